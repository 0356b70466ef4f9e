package control_test

import (
	"errors"
	"testing"

	"engang/shared/operation"
)

// A draft that is older than results are kept is not approved where none stands: a newer one may have stood there.
func TestADraftOlderThanResultsAreKeptIsNotApproved(t *testing.T) {
	for name, c := range map[string]struct {
		days   int  // that results are kept; 0: without end
		older  bool // than the draft is the result that stands
		wanted error
	}{
		"no result":                        {400, false, operation.ErrOutlived},
		"an older result stands":           {400, true, nil},
		"results are kept without end":     {0, false, nil},
		"results are kept for long enough": {500, false, nil},
	} {
		d := newCounter()
		d.days = &c.days
		o := d.draft(1, 5)
		d.at(o.Key).Attempts = []operation.Attempt{{StartedAt: noon.AddDate(0, 0, -450), Called: true}}
		if c.older {
			d.result(2, 50)
		}
		_, err := d.control().Approve(t.Context(), shop, deciding(o))
		if !errors.Is(err, c.wanted) || (d.at(o.Key).State == operation.Completed) != (c.wanted == nil) {
			t.Errorf("%s: %v, operation %s", name, err, d.at(o.Key).State)
		}
	}
}
