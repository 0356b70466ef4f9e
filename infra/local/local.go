// Package local is the whole system in one process: the HTTP front, the functions, the event source,
// the schedule, an embedded engine for table, queues, bucket and parameters, and a model that costs
// nothing. Names, keys, timeouts and the functions' environment come from template.yaml, so that what
// runs here and what is deployed cannot drift apart. What a function's role in the template does not allow is refused
// here too, as AWS refuses it.
//
// The functions are the deployed ones: they get JSON events and give JSON answers. Only their clock runs
// faster ([Options].Speed), and their calls can be counted and broken on the way.
package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"engang/infra/local/cloudformation"
	"engang/infra/local/faults"
	"engang/infra/local/front"
	"engang/infra/local/invoke"
	"engang/infra/local/poller"
	"engang/infra/local/wire"
	"engang/infra/modelstub"
	"engang/shared/config"
	"engang/shared/dynamo"
	"engang/shared/inbox"
)

// Options say how a system is started. The zero value is what `engang local` starts, on a free port.
type Options struct {
	TemplatePath string   // empty: template.yaml of the working directory or above it
	ConfigFiles  []string // empty: infra/local.yaml beside the template
	Watch        bool     // apply the files again when they change
	DataDir      string   // where the engine keeps its data; empty: in memory. See [ErrDataDir].
	Port         int      // on 127.0.0.1; zero: a free one
	Speed        float64  // divides lease, visibility, backoff, due ages, schedule; zero: 50 with the stub, 1 with a real model
	NoThrottle   bool     // the front never answers 429
	Artifacts    string   // folder of `sam build`: its bootstraps run as processes, in place of the handlers in this one

	OpenAIKey string // a real model is called, and paid for, instead of the stub
	ModelURL  string // where models are called instead of the stub; with OpenAIKey: instead of the configured address

	Now func() time.Time // what the receiver takes for the time of a delivery; nil: the clock

	DynamoDBURL string     // an engine for the table alone, in place of the embedded one
	SQSURL      string     // an engine for the queues alone, in place of the embedded one
	Faults      string     // that strike from the start: "worker:kill@after-claim,store:downx2"
	Judge       wire.Judge // is asked about every call of every function, before the faults are
	Meter       bool       // compute the write units of each call; for one flow at a time

	// Transport carries every call to the engine and to the model, behind Judge and faults; nil: the network. A test may
	// hold, refuse or change a call in it.
	Transport http.RoundTripper

	Manual bool      // no event source and no schedule: [System.Work] and [System.Reconcile] step by hand
	Log    io.Writer // the functions' log lines; nil: nowhere

	OnExchange func(front.Exchange) // is told of each request that reached a function
	OnBatch    func(poller.Batch)   // is told of each batch that was worked on
	OnUse      func(Use)            // is told of each right that a function needed, and whether its role gives it
	OnConfig   func([]Kept, error)  // is told of each change of the files, what of them was not applied, and why nothing was
}

// UsualSpeed is how much faster than deployed the system runs with the stub.
const UsualSpeed = 50

// MinSpeed and MaxSpeed are what an operator may ask for: beyond, a lease is over before the work under it
// is done, and nothing is ever finished. Whoever steps by hand may go further.
const (
	MinSpeed = 1
	MaxSpeed = 200
)

// ErrDataDir says that the engine does not keep its data in the folder that was asked for: it reads
// its folder from KUMO_DATA_DIR when the program starts.
var ErrDataDir = errors.New("KUMO_DATA_DIR is not set to the data folder")

// ErrDataInUse says that another program keeps its data in the folder: each would write over what the
// other has acknowledged.
var ErrDataInUse = errors.New("another engang local uses this data folder; stop it, or give another --data")

// A System runs until it is closed. Its methods are safe for concurrent use.
type System struct {
	o         Options
	began     time.Time
	stack     *stack
	base      http.RoundTripper // to the engines, past the wire
	held      held
	rights    *guard // of the functions' roles
	wire      *wire.Wire
	meter     *wire.Meter
	record    *wire.Record
	faults    *faults.Controller
	stub      *modelstub.Stub
	gateway   *front.Gateway
	functions map[string]*invoke.Function
	sources   []*poller.Source
	every     time.Duration // between two runs of the reconciler
	server    *http.Server
	url       string
	ready     time.Duration
	closers   []func(context.Context) error // run from the last to the first
	lasting   int                           // how many of them are needed to look at what is stored
	applied   atomic.Pointer[config.Set]
	kept      []Kept // at the start
}

// Start starts a system, and returns when it serves. On an error nothing is left running.
func Start(ctx context.Context, o Options) (s *System, err error) {
	s = &System{o: o, began: time.Now(), record: &wire.Record{}, functions: map[string]*invoke.Function{}}
	defer func() {
		if err != nil {
			_ = s.Close(context.WithoutCancel(ctx))
		}
	}()
	if s.o.Speed <= 0 {
		s.o.Speed = UsualSpeed
		if o.OpenAIKey != "" {
			s.o.Speed = 1
		}
	}
	if s.o.Log == nil {
		s.o.Log = io.Discard
	}
	s.o.Log = &lines{to: s.o.Log}
	if s.o.TemplatePath == "" {
		if s.o.TemplatePath, err = cloudformation.Find("."); err != nil {
			return s, err
		}
	}
	for _, step := range []func(context.Context) error{s.startModel, s.startEngine, s.startFunctions, s.startConfig, s.startWork, s.startServer} {
		if err := step(ctx); err != nil {
			return s, err
		}
	}
	s.ready = time.Since(s.began)
	return s, nil
}

// URL is the address of the front, without a slash at its end.
func (s *System) URL() string { return s.url }

// Ready is how long the start took.
func (s *System) Ready() time.Duration { return s.ready }

// Speed is how much faster than deployed the system runs.
func (s *System) Speed() float64 { return s.o.Speed }

// TableName is the name of the table.
func (s *System) TableName() string { return s.stack.table }

// DynamoDB is a client past the wire: its calls are neither counted nor broken.
func (s *System) DynamoDB() *dynamodb.Client { return s.stack.dynamodb }

// SQS is a client past the wire.
func (s *System) SQS() *sqs.Client { return s.stack.sqs }

// Direct is the configuration of clients past the wire, whose transport is put around theirs.
func (s *System) Direct(around func(http.RoundTripper) http.RoundTripper) aws.Config {
	return s.awsConfig(&http.Client{Transport: around(s.base)})
}

// SecretPath is what the names of the system's parameters begin with.
func (s *System) SecretPath() (string, error) {
	_, path, err := s.vault()
	return path, err
}

// Metered lets the meter rest, or work again: each call that it computes costs it reads of its own. Without
// [Options].Meter it does nothing.
func (s *System) Metered(on bool) { s.meter.Rest(!on) }

// QueueURL is the address of a queue by its id in the template: "WorkQueue", "WorkDeadLetterQueue".
func (s *System) QueueURL(id string) string { return s.stack.queues[id] }

// S3 is a client past the wire.
func (s *System) S3() *s3.Client { return s.stack.s3 }

// BucketName is the name of a bucket by its id in the template: "Bodies".
func (s *System) BucketName(id string) string { return s.stack.buckets[id] }

// Stub is the model, or nil when another one is called.
func (s *System) Stub() *modelstub.Stub { return s.stub }

// Faults is what breaks the system on demand.
func (s *System) Faults() *faults.Controller { return s.faults }

// Record is what the functions called.
func (s *System) Record() *wire.Record { return s.record }

// Kept is what of the configuration files was not applied at the start, since a higher version was live.
func (s *System) Kept() []Kept { return s.kept }

// Config is the configuration that was applied last.
func (s *System) Config() config.Set { return *s.applied.Load() }

// Open lists the events that are stored and not settled: what is unfinished.
func (s *System) Open(ctx context.Context) ([]inbox.EventID, error) {
	table := dynamo.Open(s.direct(), s.stack.table)
	var all []inbox.EventID
	for shard := range dynamo.OpenShards {
		for after := ""; ; {
			ids, next, err := table.Due(ctx, shard, time.Now().AddDate(100, 0, 0), after)
			if err != nil {
				return nil, err
			}
			if all = append(all, ids...); next == "" {
				break
			}
			after = next
		}
	}
	return all, nil
}

// Invoke runs one event of a function ("receiver") past front, queue and schedule. Its error is an
// [*invoke.FunctionError].
func (s *System) Invoke(ctx context.Context, function string, event []byte) ([]byte, error) {
	f, ok := s.functions[function]
	if !ok {
		return nil, fmt.Errorf("invoke %q: no such function", function)
	}
	return f.Invoke(ctx, event)
}

// Restart makes every later event meet a fresh execution environment, with empty caches.
func (s *System) Restart() {
	for _, f := range s.functions {
		f.Restart()
	}
}

// Work moves one batch from each queue to its function, and returns how many messages that were.
func (s *System) Work(ctx context.Context) (int, error) {
	sum := 0
	for _, source := range s.sources {
		n, err := source.Once(ctx)
		sum += n
		if err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// Reconcile makes one sweep of the reconciler.
func (s *System) Reconcile(ctx context.Context) error {
	_, err := s.Invoke(ctx, "reconciler", []byte(`{"version":"0","source":"aws.scheduler","detail-type":"Scheduled Event","detail":{}}`))
	return err
}

// Drain takes no new request and no new batch, and returns when those in work have ended. What is
// stored can still be looked at with [System.Open].
func (s *System) Drain(ctx context.Context) error {
	var faults []error
	for len(s.closers) > s.lasting {
		last := len(s.closers) - 1
		faults = append(faults, s.closers[last](ctx))
		s.closers = s.closers[:last]
	}
	return errors.Join(faults...)
}

// Close drains the system and ends it. Data in memory is gone then; data in a folder has been written.
// Only one goroutine may drain and close.
func (s *System) Close(ctx context.Context) error {
	var faults []error
	for _, close := range slices.Backward(s.closers) {
		faults = append(faults, close(ctx))
	}
	s.closers = nil
	return errors.Join(faults...)
}
