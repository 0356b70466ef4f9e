package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"engang/shared/bodies"
	"engang/shared/dynamo"
	"engang/shared/dynamo/dynamotest/invariants"
	"engang/shared/inbox"
)

// noon is when every history begins.
var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// A history may not be longer than this: what is not at rest by then never comes to rest.
const (
	mostSteps = 40_000
	mostTime  = 30 * 24 * time.Hour
)

// engineHost is the address of what the clients of the table and the bucket call. Nothing answers there.
const engineHost = "engine.invalid"

// tries is how often a client makes one call.
const tries = 3

// A world is one history in the making. Exactly one of its actors runs at a time, and the world while none does.
type world struct {
	Options
	dice  dice
	ctx   context.Context
	clock time.Duration // since noon
	rate  int           // faults in a thousand steps

	actors []*actor
	tasks  []task
	turns  int

	engine  engine
	db      *dynamodb.Client
	table   *dynamo.Table
	bucket  bucket
	bodies  *bodies.Bucket
	log     *slog.Logger
	work    *queue
	letters *queue
	workers []*process
	others  map[string]*process

	scene  scene
	calmAt time.Duration // when the faults end
	swept  time.Duration // the last minute in which reconcilers ran
	before invariants.Items

	seen
	history
	counts Counts
}

// A task is something that begins at a time by itself.
type task struct {
	at    time.Duration
	name  string
	begin func()
}

func (w *world) at(d time.Duration, name string, begin func()) {
	w.tasks = append(w.tasks, task{d, name, begin})
}

func newWorld(ctx context.Context, o Options) (*world, error) {
	w := &world{Options: o, dice: dice(o.Seed), ctx: ctx, log: slog.New(slog.DiscardHandler), others: map[string]*process{}, bucket: bucket{}, seen: newSeen()}
	w.history.keep = o.History
	w.rate = []int{0, 10, 25, 25, 45, 80}[w.dice.below(6, "rate", 0)]
	w.letters = &queue{w: w, name: "dead letters"}
	w.work = &queue{w: w, name: "work", letters: w.letters}
	w.engine = started()
	cfg := w.config()
	name := fmt.Sprintf("simulated-%d-%d", o.Seed, tables.Add(1))
	w.db = dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { o.DisableValidateResponseChecksum = true })
	w.table, w.bodies = dynamo.Open(cfg, name), bodies.Open(cfg, bucketName)
	if err := w.create(name); err != nil {
		return nil, err
	}
	w.scene = w.dice.scene()
	for i := range 2 + w.dice.below(2, "workers", 0) {
		w.workers = append(w.workers, w.newProcess(fmt.Sprintf("worker %d", i+1)))
	}
	return w, nil
}

// config is the configuration of every client: its calls come to the world, and its waits are steps.
func (w *world) config() aws.Config {
	return aws.Config{
		Region: "eu-north-1", BaseEndpoint: aws.String("http://" + engineHost), Credentials: aws.AnonymousCredentials{}, HTTPClient: &http.Client{Transport: w},
		Retryer: func() aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) {
				o.MaxAttempts, o.RateLimiter = tries, ratelimit.None
				o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
			})
		},
	}
}

// calm tells whether the faults are over.
func (w *world) calm() bool {
	return w.calmAt > 0 && w.clock >= w.calmAt && !w.scene.storming(w.clock)
}

// process finds a process by its name, or begins it.
func (w *world) processOf(name string) *process {
	if w.others[name] == nil {
		w.others[name] = w.newProcess(name)
	}
	return w.others[name]
}

// run goes on until nothing is left to do.
func (w *world) run() {
	for w.turns = 0; w.turns < mostSteps && w.clock < mostTime; w.turns++ {
		w.beginDue()
		if w.turn() {
			continue
		}
		if !w.pass() {
			return
		}
	}
	w.violated("no-dead-ends: after %d steps and %s it is not at rest", w.turns, w.clock)
}

// beginDue begins what is to begin by now, in the order of its times.
func (w *world) beginDue() {
	for {
		first := -1
		for i, t := range w.tasks {
			if t.at <= w.clock && (first < 0 || t.at < w.tasks[first].at) {
				first = i
			}
		}
		if first < 0 {
			return
		}
		t := w.tasks[first]
		w.tasks = append(w.tasks[:first], w.tasks[first+1:]...)
		t.begin()
	}
}

// turn lets one go on of those that could: an actor to its next step, or an idle worker to a message.
func (w *world) turn() bool {
	var chosen func()
	var lowest uint64
	offer := func(number uint64, do func()) {
		if chosen == nil || number < lowest {
			chosen, lowest = do, number
		}
	}
	for _, a := range w.actors {
		if a.wake <= w.clock {
			offer(w.dice.throw("turn of "+a.name, a.steps), func() { w.resume(a) })
		}
	}
	if idle := w.idle(); idle != nil && w.work.visible() > 0 {
		offer(w.dice.throw("poll", w.work.polls), func() { w.receive(idle) })
	}
	if chosen == nil {
		return false
	}
	w.clock += w.dice.between(time.Millisecond, 12*time.Millisecond, "time", w.turns)
	chosen()
	return true
}

// resume lets an actor go on to its next step, or to its end.
func (w *world) resume(a *actor) {
	a.over = a.end > 0 && w.clock >= a.end
	if _, on := a.next(); on {
		return
	}
	for i, other := range w.actors {
		if other == a {
			w.actors = append(w.actors[:i], w.actors[i+1:]...)
			break
		}
	}
	w.left(a)
	a.process.busy = false
}

// pass moves the clock on to the next moment at which something can go on. It is false when there is none.
func (w *world) pass() bool {
	next := time.Duration(-1)
	until := func(d time.Duration) {
		if next < 0 || d < next {
			next = d
		}
	}
	for _, a := range w.actors {
		until(a.wake)
	}
	for _, t := range w.tasks {
		until(t.at)
	}
	if d, ok := w.work.next(); ok {
		until(d)
	}
	if d, ok := w.nextSweep(); ok {
		if next < 0 || d < next {
			w.sweepAt(d)
			return true
		}
	}
	if next < 0 {
		return false
	}
	w.clock = max(w.clock, next)
	return true
}

// Times of the functions, as template.yaml has them but for the worker's, which outlasts its lease by more.
const (
	receiverTime   = 10 * time.Second
	workerTime     = 150 * time.Second
	reconcilerTime = 55 * time.Second
	consoleTime    = 29 * time.Second
	openAge        = 5 * time.Minute
)

// openEvents are the events that are stored as open, by when they are due.
type openEvents map[inbox.EventID]time.Duration
