package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// A round is what was measured in one turn over one table.
type round struct {
	events     Usage // deliveries and workers at once
	duplicates Usage
	receive    float64 // one after the other, medians
	work       float64
	engine     float64 // a bare put, likewise: what the engine itself takes longer
}

// pipeline measures rounds in turns over both tables. The first ones open connections and are not counted.
func pipeline(ctx context.Context, o Options, few, many *side) (Pipeline, error) {
	sides := []*side{few, many}
	measured := make([][]round, len(sides))
	for i := range o.Rounds + 1 {
		for turn := range sides {
			at := (i + turn) % len(sides) // none has always the first turn
			o.Progress(float64(i)/float64(o.Rounds+1), fmt.Sprintf("round %d of %d at %d stored events", i, o.Rounds, sides[at].stored))
			r, err := sides[at].round(ctx, o)
			if err != nil {
				return Pipeline{}, fmt.Errorf("measure the pipeline at %d stored events: %w", sides[at].stored, err)
			}
			if i > 0 {
				measured[at] = append(measured[at], r)
			}
		}
	}
	p := Pipeline{Growth: map[string]Spread{}}
	for at, s := range sides {
		p.Sides = append(p.Sides, sum(s.stored, measured[at]))
	}
	for _, of := range kinds {
		p.Growth[of.name] = growth(column(measured[0], of.value), column(measured[1], of.value))
	}
	return p, nil
}

// kinds are the costs that must not grow with what is stored.
var kinds = []struct {
	name  string
	value func(round) float64
}{
	{"time_per_event", func(r round) float64 { return r.events.WallUS }},
	{"cpu_per_event", func(r round) float64 { return r.events.CPUUS }},
	{"receive", func(r round) float64 { return r.receive }},
	{"work", func(r round) float64 { return r.work }},
	{"bare_put", func(r round) float64 { return r.engine }},
	{"time_per_duplicate", func(r round) float64 { return r.duplicates.WallUS }},
	{"cpu_per_duplicate", func(r round) float64 { return r.duplicates.CPUUS }},
}

func column(rounds []round, value func(round) float64) (s sample) {
	for _, r := range rounds {
		s = append(s, value(r))
	}
	return s
}

func sum(stored int, rounds []round) Side {
	of := func(value func(round) float64) Spread { return column(rounds, value).spread() }
	const second, milli = 1e6, 1e3 // in microseconds
	return Side{
		Stored:       stored,
		PerSecond:    of(func(r round) float64 { return second / r.events.WallUS }),
		CPUMS:        of(func(r round) float64 { return r.events.CPUUS / milli }),
		Allocs:       of(func(r round) float64 { return r.events.Allocs }),
		Bytes:        of(func(r round) float64 { return r.events.Bytes }),
		ReceiveUS:    of(func(r round) float64 { return r.receive }),
		WorkUS:       of(func(r round) float64 { return r.work }),
		DupPerSecond: of(func(r round) float64 { return second / r.duplicates.WallUS }),
		DupCPUMS:     of(func(r round) float64 { return r.duplicates.CPUUS / milli }),
	}
}

func (s *side) round(ctx context.Context, o Options) (r round, err error) {
	deliveries, err := s.maker.many(o.Events)
	if err != nil {
		return r, err
	}
	s.Record().Reset()
	before := used()
	if err := s.together(ctx, o, deliveries); err != nil {
		return r, err
	}
	r.events = before.since(len(deliveries))
	if settled := s.Record().Counts()["W6 settle"]; settled != len(deliveries) {
		return r, fmt.Errorf("%d of %d events were settled", settled, len(deliveries))
	}
	before = used()
	for range o.Duplicates {
		if err := s.deliver(ctx, o.Parallel, deliveries, "duplicate"); err != nil {
			return r, err
		}
	}
	r.duplicates = before.since(o.Duplicates * len(deliveries))
	return r, s.oneByOne(ctx, o, &r)
}

// together delivers, and works on what was delivered at the same time.
func (s *side) together(ctx context.Context, o Options, deliveries [][]byte) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var all sync.WaitGroup
	all.Go(func() {
		if err := s.deliver(ctx, o.Parallel, deliveries, "accepted"); err != nil {
			stop(err)
		}
	})
	var done atomic.Int64
	for range o.Parallel {
		all.Go(func() {
			if err := s.work(ctx, &done, len(deliveries)); err != nil {
				stop(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// deliver hands deliveries to the receiver, so many at once, and demands one answer to all.
func (s *side) deliver(ctx context.Context, parallel int, deliveries [][]byte, want string) error {
	var (
		next   atomic.Int64
		all    sync.WaitGroup
		faults = make([]error, parallel)
	)
	for worker := range parallel {
		all.Go(func() {
			for faults[worker] == nil {
				i := int(next.Add(1)) - 1
				if i >= len(deliveries) {
					return
				}
				faults[worker] = s.one(ctx, deliveries[i], want)
			}
		})
	}
	all.Wait()
	return errors.Join(faults...)
}

func (s *side) one(ctx context.Context, delivery []byte, want string) error {
	raw, err := s.Invoke(ctx, "receiver", delivery)
	if err != nil {
		return err
	}
	status, _, err := answered(raw)
	if err == nil && status != want {
		return fmt.Errorf("a delivery was answered %q, not %q", status, want)
	}
	return err
}

// The times of a worker that finds nothing.
const (
	rest     = 2 * time.Millisecond
	patience = 60 * time.Second
)

var errStuck = errors.New("messages do not come, or come again and again: another worker at the same queue, or an engine that refuses what is sent")

// work works on messages until so many are done.
func (s *side) work(ctx context.Context, done *atomic.Int64, total int) error {
	for found := time.Now(); done.Load() < int64(total) && ctx.Err() == nil; {
		n, err := s.Work(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if done.Add(int64(n)); n > 0 {
			found = time.Now()
			continue
		}
		if time.Since(found) > patience {
			return errStuck
		}
		time.Sleep(rest)
	}
	return nil
}

// oneByOne measures events that meet nobody.
func (s *side) oneByOne(ctx context.Context, o Options, r *round) error {
	deliveries, err := s.maker.many(max(o.Events/2, 1))
	if err != nil {
		return err
	}
	var receive, work, engine sample
	for _, d := range deliveries {
		began := time.Now()
		if err := s.one(ctx, d, "accepted"); err != nil {
			return err
		}
		received := time.Now()
		var done atomic.Int64
		if err := s.work(ctx, &done, 1); err != nil {
			return err
		}
		receive, work = append(receive, micros(received.Sub(began))), append(work, micros(time.Since(received)))
		began = time.Now()
		if err := s.put(ctx); err != nil {
			return err
		}
		engine = append(engine, micros(time.Since(began)))
	}
	r.receive, r.work, r.engine = receive.at(0.5), work.at(0.5), engine.at(0.5)
	return nil
}

// put puts an item as large as an event, which is in both indexes as one is.
func (s *side) put(ctx context.Context) error {
	s.maker.made++
	table, id := s.TableName(), fmt.Sprintf("%016d", s.maker.made)
	item := map[string]types.AttributeValue{"body": &types.AttributeValueMemberB{Value: []byte(product[:eventBytes])}}
	for name, value := range map[string]string{"pk": "E#bench_" + id, "sk": "EVENT", "oq": "bench", "od": id, "lq": "bench", "ld": id} {
		item[name] = &types.AttributeValueMemberS{Value: value}
	}
	_, err := s.DynamoDB().PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: item})
	return err
}

// eventBytes is about what a delivery is packed to.
const eventBytes = 3000
