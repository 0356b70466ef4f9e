// Package bench measures what an event costs: the receiver's own time beside the two calls that it makes, the
// speed and the processor time of the whole pipeline, and calls and units of each way through it, over a table that
// holds few events and over one that holds many.
//
// The functions are the deployed ones, in this process; the engines are best in others, so that only the functions'
// own work is counted. All that is compared is measured in turns in one run: what else the machine does meets both.
package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"runtime"

	"engang/infra/local"
)

// Options say what is measured. A zero number means the one of [Usual].
type Options struct {
	DynamoDBURL string // of an engine for the table; empty: the embedded one, in this process
	SQSURL      string // of an engine for the queues; empty: likewise
	ModelURL    string // of a model stub, with /v1; empty: one in this process

	Events     int // measured in each round, over each of the two tables
	Parallel   int // deliveries at once, and workers
	Duplicates int // of each event, after it was settled
	Rounds     int
	Stored     int // events in the larger table before anything is measured

	Template string                             // template.yaml; empty: of the working directory or above it
	Progress func(share float64, phrase string) // is told how far it is; may be nil
}

// Usual is what is measured where nothing else is said.
var Usual = Options{Events: 100, Parallel: 8, Duplicates: 3, Rounds: 9, Stored: 10_000}

// Few is how many events the smaller table holds before anything is measured.
const Few = 10

// ErrOutside says that an address is not on this machine. A bench makes tables and writes to them as fast as it can,
// under keys that are made up: on this machine that costs nothing and harms nobody.
var ErrOutside = errors.New("bench runs against engines on this machine alone (127.0.0.1, localhost, [::1])")

// ErrSilent says that nothing answers at an address.
var ErrSilent = errors.New("nothing answers there")

// Check refuses addresses that are not on this machine, or where nothing listens.
func (o Options) Check(ctx context.Context) error {
	for _, address := range []string{o.DynamoDBURL, o.SQSURL, o.ModelURL} {
		if address == "" {
			continue
		}
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "http" {
			return fmt.Errorf("%q is no http address: %w", address, ErrOutside)
		}
		if host := u.Hostname(); host != "localhost" && !net.ParseIP(host).IsLoopback() {
			return fmt.Errorf("%s: %w", address, ErrOutside)
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return fmt.Errorf("ask %s: %w", address, err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return fmt.Errorf("%s: %w: %w", address, ErrSilent, err)
		}
		answer.Body.Close()
	}
	return nil
}

func (o Options) orUsual() Options {
	for _, f := range []struct {
		of    *int
		usual int
	}{
		{&o.Events, Usual.Events}, {&o.Parallel, Usual.Parallel}, {&o.Duplicates, Usual.Duplicates}, {&o.Rounds, Usual.Rounds}, {&o.Stored, Usual.Stored},
	} {
		if *f.of == 0 {
			*f.of = f.usual
		}
	}
	if o.Progress == nil {
		o.Progress = func(float64, string) {}
	}
	return o
}

// Run measures, and leaves nothing behind in the engines.
func Run(ctx context.Context, o Options) (r Report, err error) {
	if err := o.Check(ctx); err != nil {
		return r, err
	}
	o = o.orUsual()
	r = Report{Kind: "bench", Table: orEmbedded(o.DynamoDBURL), Queue: orEmbedded(o.SQSURL), Model: orEmbedded(o.ModelURL), Go: runtime.Version(), CPUs: runtime.NumCPU(), Events: o.Events, Parallel: o.Parallel, Rounds: o.Rounds}
	var sides []*side
	defer func() {
		for _, s := range sides {
			err = errors.Join(err, s.Close(context.WithoutCancel(ctx)))
		}
	}()
	for _, stored := range []int{Few, o.Stored, 0} { // the last one is the receiver's alone
		s, err := start(ctx, o, stored)
		if err != nil {
			return r, err
		}
		sides = append(sides, s)
	}
	few, many, alone := sides[0], sides[1], sides[2]
	for _, s := range []*side{few, many} {
		if err := s.fill(ctx, o); err != nil {
			return r, fmt.Errorf("load %d events: %w", s.stored, err)
		}
	}
	if r.Receiver, err = alone.receiver(ctx, o); err != nil {
		return r, fmt.Errorf("measure the receiver: %w", err)
	}
	for _, s := range []*side{few, many} {
		flows, err := s.flows(ctx)
		if err != nil {
			return r, fmt.Errorf("count calls at %d stored events: %w", s.stored, err)
		}
		r.Costs = append(r.Costs, Cost{Stored: s.stored, Flows: flows})
	}
	r.Pipeline, err = pipeline(ctx, o, few, many)
	return r, err
}

func orEmbedded(address string) string {
	if address == "" {
		return "in this process"
	}
	return address
}

// A side is a system with a table of its own.
type side struct {
	*local.System
	maker  *maker
	stored int // events before anything is measured
}

func start(ctx context.Context, o Options, stored int) (*side, error) {
	m, err := newMaker()
	if err != nil {
		return nil, err
	}
	s, err := local.Start(ctx, local.Options{
		TemplatePath: o.Template, DynamoDBURL: o.DynamoDBURL, SQSURL: o.SQSURL, ModelURL: o.ModelURL,
		Speed: 1, NoThrottle: true, Manual: true, Meter: true,
	})
	if err != nil {
		return nil, fmt.Errorf("start a system: %w", err)
	}
	s.Metered(false)
	return &side{System: s, maker: m, stored: stored}, nil
}
