package control_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/shared/control"
)

// What is done again is done under the versions that it was begun under: who expects a correction to help is told.
func TestARedriveSaysUnderWhatIsNotLive(t *testing.T) {
	for _, c := range []struct {
		name string
		live map[string]int
		want []control.Former
	}{
		{"the version that is live", map[string]int{"product-card": 3}, nil},
		{"a version that was raised", map[string]int{"product-card": 4}, []control.Former{{Recipe: "product-card@3", Live: "product-card@4"}}},
		{"a recipe that was taken away", map[string]int{}, []control.Former{{Recipe: "product-card@3"}}},
	} {
		for _, parkedAlone := range []bool{false, true} {
			w := newWorks()
			w.live = c.live
			e := w.event(1, "product:794", 5)
			if parkedAlone {
				w.park(e)
			} else {
				w.fail(e, "9f2c")
			}
			got, err := w.control().Redrive(t.Context(), shop, redrive(string(e.ID)))
			if diff := cmp.Diff(c.want, got.Former); diff != "" || err != nil || len(got.Events) != 1 {
				t.Errorf("%s, parked alone %t: %v %s", c.name, parkedAlone, err, diff)
			}
		}
	}
}
