package intake_test

import (
	"testing"
	"time"

	"context"
	"engang/shared/bodies"
	"engang/shared/inbox"
	"engang/shared/intake"
	"engang/shared/telemetry"
	"io"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

func ticks(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func clock(at time.Time) func() time.Time { return func() time.Time { return at } }

// nothing answers at once, so that only our own work is measured.
type nothing struct{ receipt inbox.Receipt }

func (n nothing) Receive(context.Context, inbox.Event) (inbox.Receipt, error) { return n.receipt, nil }
func (nothing) RecordConflict(context.Context, inbox.Conflict) error          { return nil }
func (nothing) CountSeen(context.Context, inbox.EventID, time.Time) error     { return nil }
func (nothing) PutHead(context.Context, inbox.Head) error                     { return nil }
func (nothing) Send(context.Context, inbox.Reference) error                   { return nil }

// The budget is 300 µs of own work for a body of 8 KB: verifying, decoding, identifying, packing, the
// log and metric lines; all but the two calls.
func BenchmarkDeliver8KB(b *testing.B) {
	w := newWorld(b)
	filler := strings.Repeat(`{"id":7,"name":"Colour","options":["red","light blue"],"visible":true},`, 110)
	body := strings.Replace(product, `{"id"`, `{"attributes":[`+strings.TrimSuffix(filler, ",")+`],"id"`, 1)
	b.SetBytes(int64(len(body)))
	d := w.woo("product.updated", body)
	w.Limits.Body = 1 << 20
	w.Bodies = bodies.Open(aws.Config{}, "none")
	w.Store, w.Queue = nothing{inbox.Accepted}, nothing{}
	w.Log = telemetry.NewLogger(io.Discard, telemetry.Process{Function: "receiver"})
	in := intake.New(w.Deps)
	for b.Loop() {
		w.trace = w.trace[:0]
		if reply, err := in.Deliver(b.Context(), d); err != nil || reply.Status != intake.Accepted {
			b.Fatal(reply, err)
		}
	}
}
