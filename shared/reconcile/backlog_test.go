package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"engang/shared/inbox"
	"engang/shared/operation"
	"engang/shared/reconcile"
)

// A pile is a table in which so many events of each shard are due, and one of them, not the first, is older than the
// others. It counts what it is asked.
type pile struct {
	reconcile.Events // none: nothing else is called

	due, pages, reads, pushes int
}

func (p *pile) Due(_ context.Context, shard int, _ time.Time, after string) (ids []inbox.EventID, next string, err error) {
	p.pages++
	var from int
	if after != "" {
		if _, err := fmt.Sscan(after, &from); err != nil {
			return nil, "", err
		}
	}
	to := min(from+100, p.due)
	for n := from; n < to; n++ {
		ids = append(ids, inbox.EventID(fmt.Sprintf("evt_%d-%d", shard, n)))
	}
	if to < p.due {
		next = fmt.Sprint(to)
	}
	return ids, next, nil
}

func (p *pile) Event(_ context.Context, id inbox.EventID) (inbox.Event, error) {
	p.reads++
	ev := inbox.Event{ID: id, Scope: scope, State: inbox.Received, ReceivedAt: noon.Add(-time.Hour), DueAt: noon.Add(-time.Minute)}
	if id == "evt_3-7" { // postponed by a worker: the oldest is not the longest due
		ev.ReceivedAt = noon.Add(-3 * time.Hour)
	}
	return ev, nil
}

func (p *pile) PushSend(context.Context, inbox.EventID, string, time.Time) error {
	p.pushes++
	return nil
}

func (*pile) Reviews(context.Context, string, int) ([]operation.Waiting, string, error) {
	return nil, "", nil
}

// What a sweep costs does not grow with what waits: it has a minute, and its heart must beat under a backlog too.
func TestASweepIsBoundedWhateverWaits(t *testing.T) {
	for _, tt := range []struct {
		name          string
		backlog, rate int
		down          error
		pages, reads  int // at most
		sent, faults  int
		oldest        time.Duration
	}{
		{"a backlog: some of each shard are looked at, for their age", 101, 1000, nil, 8, 8 * 100, 0, 0, 3 * time.Hour},
		{"a backlog, and no rate", 101, 0, nil, 8, 8 * 100, 0, 0, 3 * time.Hour},
		{"a rate that the first shard uses up: the others are looked at", 100, 1000, nil, 17, 1700, 1000, 0, 3 * time.Hour},
		{"a queue that takes nothing", 100, 1000, errors.New("down"), 17, 1700, 0, 1000, 3 * time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := &desk{t: t, now: noon, backlog: tt.backlog, down: tt.down}
			p := &pile{due: 6_000}
			s := reconcile.New(reconcile.Deps{Events: p, Queue: d, Notices: d, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Now: func() time.Time { return noon },
				Limits: reconcile.Limits{Age: 5 * time.Minute, MaxWait: time.Hour, Sends: 10, Backlog: 100, Shards: 8, Rate: tt.rate}})
			r, err := s.Sweep(t.Context())
			if p.pages > tt.pages || p.reads > tt.reads+100 { // and those that were sent again are looked at once more
				t.Errorf("%d pages and %d events were read, want at most %d and %d", p.pages, p.reads, tt.pages, tt.reads)
			}
			if r.Sent != tt.sent || r.Faults != tt.faults || p.pushes != tt.sent+tt.faults || (err != nil) != (tt.faults > 0) {
				t.Errorf("%+v after %d pushes, %v", r, p.pushes, err)
			}
			if err != nil && strings.Count(err.Error(), "event evt_") != 10 { // not one line of log as long as all that waits
				t.Errorf("the error names %d of %d", strings.Count(err.Error(), "event evt_"), r.Faults)
			}
			if r.Oldest != tt.oldest || !r.Complete {
				t.Errorf("oldest %s, want %s; complete %v", r.Oldest, tt.oldest, r.Complete)
			}
		})
	}
}
