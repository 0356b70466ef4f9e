package program

import (
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

// A feed tells on the terminal what comes in after the sample, and what becomes of it. When more comes
// than it can look up, it says how much it left out.
type feed struct {
	p *program
	c *client.Client

	mu      sync.Mutex
	live    bool
	work    chan func(context.Context)
	dropped int
	told    map[string]bool // attempts and results, by id
}

// start connects the feed; it tells nothing yet.
func (f *feed) start(s *local.System) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.c = &client.Client{HTTP: f.p.HTTP, Timeout: f.p.timeout}
	f.p.onThisMachine(f.c, s.URL())
	f.c.As = "local"
	if set := s.Config(); set.Scope.Tenant != "" {
		f.c.Tenant, f.c.Environ = set.Scope.Tenant, set.Scope.Environment
	}
	f.work, f.told = make(chan func(context.Context), 256), map[string]bool{}
}

// follow tells what happens until ctx ends.
func (f *feed) follow(ctx context.Context) {
	f.mu.Lock()
	f.live = true
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
func (f *feed) admit() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dropped > 0 && len(f.work) == 0 {
		fmt.Fprintf(f.p.Stdout, "  … %s more, see %s\n", text.Count(f.dropped, "line", "lines"), f.p.suggest("events"))
		f.dropped = 0
	}
}

func (f *feed) queue(do func(context.Context)) {
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

func (f *feed) line(at time.Time, kind, what string) {
	zone := at.UTC()
	if !f.p.utc {
		zone = at.Local()
	}
	fmt.Fprintf(f.p.Stdout, "  %s  %-9s  %s\n", zone.Format("15:04:05.00"), kind, what)
}

// exchange tells a delivery.
func (f *feed) exchange(x front.Exchange) {
	name, ok := strings.CutPrefix(x.Path, "/hooks/")
	if !ok {
		return
	}
	f.queue(func(ctx context.Context) {
		var answer struct{ Status, Event, Title string }
		_ = json.Unmarshal(x.Answer, &answer)
		about, says := name, answer.Status
		if says == "" {
			says = strings.ToLower(answer.Title)
		}
		if answer.Event != "" {
			if doc, err := f.c.Show(ctx, client.Filter{"id": answer.Event}); err == nil && doc.Event != nil {
				about = doc.Event.Type + "  " + doc.Event.Object
			}
			says += " " + answer.Event
		}
		f.line(x.At, "delivery", fmt.Sprintf("%-30s  %-34s  %d  %5s", about, says, x.Status, text.Duration(x.Took)))
	})
}

// batch tells what came of the events that were worked on.
func (f *feed) batch(b poller.Batch) {
	for _, r := range b.Records {
		m, err := queue.Decode(r.Body)
		if err != nil || m.Event == "" {
			continue
		}
		at, killed := time.Now(), b.Err
		f.queue(func(ctx context.Context) {
			if killed != nil {
				f.line(at, "worker", fmt.Sprintf("%s  %v", m.Event, killed))
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
			if e := doc.Event; e.State != "received" && f.first(fmt.Sprint(e.ID, e.Generation, e.State)) {
				f.line(*e.EndedAt, "event", strings.TrimSpace(fmt.Sprintf("%s  %s  %s %s  %s", e.ID, e.Object, e.State, e.Outcome, e.Reason)))
			}
		})
	}
}

func (f *feed) operation(o control.Operation) {
	for i, a := range o.Attempts {
		at := a.StartedAt
		if a.EndedAt != nil {
			at = a.EndedAt
		}
		if at == nil || !f.first(a.ID+a.Outcome) {
			continue
		}
		says := call(a)
		if a.Outcome != "usable" {
			says = text.Attempt(a)
		}
		f.line(*at, fmt.Sprintf("attempt %d", i+1), fmt.Sprintf("%s/%s  token %d  %s", o.Object, o.Recipe, a.FencingToken, says))
	}
}

// first tells whether something is told for the first time. Only the goroutine of follow asks.
func (f *feed) first(key string) bool {
	if f.told[key] {
		return false
	}
	f.told[key] = true
	return true
}

// config tells a change of the configuration files at once.
func (f *feed) config(err error) {
	if err == nil {
		f.line(time.Now(), "config", "applied")
		return
	}
	f.line(time.Now(), "config", "not applied, the old one stays:\n    "+strings.ReplaceAll(err.Error(), "\n", "\n    "))
}
