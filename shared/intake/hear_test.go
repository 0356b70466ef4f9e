package intake_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/intake"
	"engang/shared/object"
)

// ears note who was heard when.
type ears struct {
	mu    sync.Mutex
	heard []string
	do    func(ctx context.Context) error
}

func (e *ears) NoteDelivery(ctx context.Context, scope object.Scope, endpoint string, at time.Time) error {
	e.mu.Lock()
	e.heard = append(e.heard, scope.String()+" "+endpoint+" "+at.Format(time.TimeOnly))
	e.mu.Unlock()
	if e.do != nil {
		return e.do(ctx)
	}
	return nil
}

// listening is a world in which the silence of woo-shop is watched.
func listening(t *testing.T) (*world, *ears, *intake.Intake, *time.Time) {
	w := newWorld(t)
	e := w.endpoints["woo-shop"]
	e.SilentAfterSeconds = 86_400
	w.endpoints["woo-shop"] = e
	ears, at := &ears{}, now
	w.Listeners, w.Now = ears, func() time.Time { return at }
	return w, ears, intake.New(w.Deps), &at
}

func TestASenderThatIsHeardIsNotedNowAndThen(t *testing.T) {
	w, ears, in, at := listening(t)
	for _, d := range []intake.Delivery{
		w.woo("product.updated", product), w.woo("product.updated", product), w.woo("order.created", product), // a repeat, and one that is not enabled, are heard too
	} {
		if _, err := in.Deliver(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := in.Deliver(t.Context(), w.crm("msg_1", contact)); err != nil { // whose silence nobody watches
		t.Fatal(err)
	}
	for _, later := range []time.Duration{10*time.Minute - time.Millisecond, 10 * time.Minute, -time.Hour} {
		*at = now.Add(later)
		if _, err := in.Deliver(t.Context(), w.woo("product.updated", product)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"shop/test woo-shop 20:00:00", "shop/test woo-shop 20:10:00", "shop/test woo-shop 19:00:00"}, ears.heard); diff != "" {
		t.Errorf("noted (-want +got):\n%s", diff)
	}
}

// Whoever may send anything must not make a silent sender look alive.
func TestWhatIsNotVerifiedIsNotHeard(t *testing.T) {
	w, ears, in, _ := listening(t)
	d := w.woo("product.updated", product)
	d.Body = append(d.Body, ' ')
	if _, err := in.Deliver(t.Context(), d); err == nil {
		t.Fatal("taken")
	}
	if _, err := in.Take(t.Context(), fetched(product)); err != nil { // our own question
		t.Fatal(err)
	}
	if len(ears.heard) != 0 {
		t.Errorf("noted %v", ears.heard)
	}
}

func TestANoteThatFailsFailsNothingAndIsTriedAgain(t *testing.T) {
	w, ears, in, _ := listening(t)
	ears.do = func(context.Context) error { return errThrottled }
	for range 2 {
		if reply, err := in.Deliver(t.Context(), w.woo("product.updated", product)); err != nil || reply.Event == "" {
			t.Errorf("Deliver = %+v, %v", reply, err)
		}
	}
	if len(ears.heard) != 2 || !strings.Contains(w.log.String(), "last delivery not noted") {
		t.Errorf("noted %v, log %s", ears.heard, w.log.String())
	}
}

func TestANoteHoldsNoAnswerUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, ears, in, _ := listening(t)
		ears.do = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		w.during = func(act string) {
			if act == "receive" {
				time.Sleep(time.Second) // the note has had its time by then
			}
		}
		began := time.Now()
		if _, err := in.Deliver(t.Context(), w.woo("product.updated", product)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("took %v: the note came on top", took)
		}
		synctest.Wait()
	})
}
