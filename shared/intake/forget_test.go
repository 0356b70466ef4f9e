package intake_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/shared/intake"
)

// What was taken away on purpose must not come back with the sender's next try.
func TestARepeatOfAnErasedEventIsADuplicateOfWhichNothingIsKept(t *testing.T) {
	for _, failing := range []bool{false, true} {
		w := newWorld(t)
		if _, err := w.deliver(w.crm("msg_1", contact)); err != nil {
			t.Fatal(err)
		}
		first := w.only()
		first.Erased = received
		w.stored[first.ID] = first
		if failing {
			w.fail["drop"] = errThrottled
		}
		for _, body := range []string{contact, strings.Replace(contact, "c-17", "c-18", 1)} { // a repeat, and another fact under its key
			w.trace = nil
			reply, err := w.deliver(w.crm("msg_1", body))
			if err != nil || reply.Status != intake.Duplicate || reply.Event != first.ID {
				t.Fatalf("Deliver = %+v, %v", reply, err)
			}
			if diff := cmp.Diff([]string{"endpoint", "secrets", "keep", "receive", "drop", "count"}, w.trace); diff != "" {
				t.Errorf("acts (-want +got):\n%s", diff)
			}
		}
		if len(w.dropped) != 2 || w.dropped[0] != "packed of "+string(first.ID) || len(w.conflicts) != 0 {
			t.Errorf("dropped %v, conflicts %v", w.dropped, w.conflicts)
		}
		if failing != strings.Contains(w.log.String(), "not dropped") {
			t.Errorf("log: %s", w.log.String())
		}
	}
}
