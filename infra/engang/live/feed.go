package live

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"engang/infra/engang/client"
	"engang/infra/engang/text"
	"engang/infra/local"
	"engang/infra/local/front"
	"engang/infra/local/poller"
	"engang/shared/control"
	"engang/shared/queue"
)

// A Feed tells on the terminal what comes in after the sample, and what becomes of it. When more comes
// than it can look up, it says how much it left out.
type Feed struct {
	screen Screen
	c      *client.Client

	mu      sync.Mutex
	live    bool
	work    chan func(context.Context)
	dropped int
	told    told // attempts and events, by id and how they ended; of the goroutine of Follow
}

// NewFeed makes a feed, which tells nothing until it is followed.
func NewFeed(screen Screen) *Feed {
	return &Feed{screen: screen, work: make(chan func(context.Context), 256)}
}

// Follow tells what happens until ctx ends. Details are asked for through c.
func (f *Feed) Follow(ctx context.Context, c *client.Client) {
	f.mu.Lock()
	f.live, f.c = true, c
	f.mu.Unlock()
	for {
		select {
		case <-ctx.Done():
			f.mu.Lock()
			f.live = false
			f.mu.Unlock()
			return
		case do := <-f.work:
			do(ctx)
			f.admit()
		}
	}
}

// admit says what was left out, once there is time to.
func (f *Feed) admit() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dropped > 0 && len(f.work) == 0 {
		fmt.Fprintf(f.screen.Out, "  … %s more, see %s\n", text.Count(f.dropped, "line", "lines"), f.screen.Suggest("events"))
		f.dropped = 0
	}
}

func (f *Feed) queue(do func(context.Context)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.live {
		return
	}
	select {
	case f.work <- do:
	default:
		f.dropped++
	}
}

// Exchange tells a delivery.
func (f *Feed) Exchange(x front.Exchange) {
	name, ok := strings.CutPrefix(x.Path, "/hooks/")
	if !ok {
		return
	}
	f.queue(func(ctx context.Context) {
		var answer struct{ Status, Event, Title string }
		_ = json.Unmarshal(x.Answer, &answer)
		about, says := name, answer.Status
		if says == "" {
			says = cmp.Or(strings.ToLower(answer.Title), "answered in the sender's own form")
		}
		if answer.Event != "" {
			if doc, err := f.c.Show(ctx, client.Filter{"id": answer.Event}); err == nil && doc.Event != nil {
				about = doc.Event.Type + "  " + doc.Event.Object
			}
			says += " " + answer.Event
		}
		f.screen.line(x.At, "delivery", "%-30s  %-34s  %d  %5s", about, says, x.Status, text.Duration(x.Took))
	})
}

// Batch tells what came of the events that were worked on, and that a queue cannot be received from.
func (f *Feed) Batch(b poller.Batch) {
	if len(b.Records) == 0 && b.Err != nil {
		at := time.Now()
		f.queue(func(context.Context) { f.screen.line(at, "queue", "%v", b.Err) })
	}
	for _, r := range b.Records {
		m, err := queue.Decode(r.Body)
		if err != nil || m.Event == "" {
			continue
		}
		at, killed := time.Now(), b.Err
		f.queue(func(ctx context.Context) {
			if killed != nil {
				f.screen.line(at, "worker", "%s  %v", m.Event, killed)
			}
			doc, err := f.c.Show(ctx, client.Filter{"id": string(m.Event)})
			if err != nil || doc.Event == nil {
				return
			}
			for _, name := range doc.Event.Operations {
				if o, err := f.c.Show(ctx, client.Filter{"id": name}); err == nil && o.Operation != nil {
					f.operation(*o.Operation)
				}
			}
			if e := doc.Event; e.State != "received" && f.told.first(ending(*e)) {
				f.screen.line(*e.EndedAt, "event", "%s", strings.TrimSpace(fmt.Sprintf("%s  %s  %s %s  %s", e.ID, e.Object, e.State, e.Outcome, e.Reason)))
			}
		})
	}
}

func (f *Feed) operation(o control.Operation) {
	for i, a := range o.Attempts {
		at := a.StartedAt
		if a.EndedAt != nil {
			at = a.EndedAt
		}
		if at == nil || !f.told.first(a.ID+a.Outcome) {
			continue
		}
		f.screen.line(*at, fmt.Sprintf("attempt %d", i+1), "%s/%s  token %d  %s", o.Object, o.Recipe, a.FencingToken, call(a))
	}
}

// know marks what was told already. It is called before the feed is followed.
func (f *Feed) know(doc control.Object) {
	for _, e := range doc.Events {
		f.told.first(ending(e))
	}
	for _, o := range doc.Operations {
		for _, a := range o.Attempts {
			f.told.first(a.ID + a.Outcome)
		}
	}
}

func ending(e control.Event) string { return fmt.Sprint(e.ID, e.Generation, e.State) }

// Config tells a change of the configuration files at once.
func (f *Feed) Config(kept []local.Kept, err error) {
	if err == nil {
		f.screen.line(time.Now(), "config", "applied")
		for _, k := range kept {
			f.screen.line(time.Now(), "config", "%s", k)
		}
		return
	}
	f.screen.line(time.Now(), "config", "not applied, the old one stays:")
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(f.screen.Out, "    %s\n", text.Line(strings.TrimSuffix(line, "\n")))
	}
}
