package control_test

import (
	"errors"
	"testing"

	"engang/shared/audit"
	"engang/shared/control"
	"engang/shared/inbox"
	"engang/shared/operation"
	"engang/shared/problem"

	"github.com/google/go-cmp/cmp"
)

func TestALookIsRecordedBeforeAnythingIsShown(t *testing.T) {
	m := newMemory()
	e := m.event(1, "product:794", 5)
	op := m.operation(e, "9f2c")
	look := control.Look{ID: string(e.ID), By: "ann", Reason: "customer asks"}

	body, err := m.control().Reveal(t.Context(), shop, look)
	if err != nil || body.Kind != "body" || string(body.Body) != "body" || body.Bytes != 4 {
		t.Errorf("body %+v, %v", body, err)
	}
	look.ID = "product:794/product-card@3/9f"
	output, err := m.control().Reveal(t.Context(), shop, look)
	if err != nil || output.ID != op.Key.String() || string(output.Output) != `{"summary":"s"}` || output.Digest != "sha256:cd" {
		t.Errorf("output %+v, %v", output, err)
	}
	entry := audit.Entry{Scope: shop, At: noon, ID: "act-1", By: "ann", Act: "show body", Target: string(e.ID), Reason: "customer asks", ExpiresAt: noon.AddDate(0, 0, 400)}
	second := entry
	second.ID, second.Act, second.Target = "act-2", "show output", op.Key.String()
	if diff := cmp.Diff([]audit.Entry{entry, second}, m.trail); diff != "" {
		t.Error(diff)
	}

	m.noAudit, m.bodies = errors.New("store down"), 0
	look.ID = string(e.ID)
	if got, err := m.control().Reveal(t.Context(), shop, look); !errors.Is(err, m.noAudit) || got.Body != nil || m.bodies != 0 {
		t.Errorf("not recorded and still shown: %+v, %v, %d bodies read", got, err, m.bodies)
	}
}

func TestWhatIsNotShownIsNotRecorded(t *testing.T) {
	m := newMemory()
	e := m.event(1, "product:794", 5)
	m.operation(e, "9f2c")
	empty := m.event(2, "product:8", 5)
	empty.Body = inbox.Body{}
	m.events[empty.ID] = empty
	foreign := m.event(3, "product:9", 5)
	foreign.Scope.Tenant = "other"
	m.events[foreign.ID] = foreign
	m.operation(e, "9f2d")
	pending := m.operation(m.event(4, "product:5", 1), "aa")
	m.ops[2].Output = nil
	for _, c := range []struct {
		name, id, reason string
		err              error
	}{
		{"no reason", string(e.ID), "", control.ErrReason},
		{"a blank reason", string(e.ID), " \t", control.ErrReason},
		{"nobody", string(e.ID), "why", problem.ErrIdentity},
		{"a body that was erased", string(empty.ID), "why", control.ErrGone},
		{"another tenant's event", string(foreign.ID), "why", inbox.ErrNotFound},
		{"no such event", "evt_aaaaaaaaaaaaaaaa", "why", inbox.ErrNotFound},
		{"a whole object", "product:794", "why", control.ErrAmbiguous},
		{"no such operation", "product:794/product-card@3/00", "why", operation.ErrNotFound},
		{"no output yet", pending.Key.String(), "why", control.ErrGone},
	} {
		by := "ann"
		if c.name == "nobody" {
			by = " "
		}
		if _, err := m.control().Reveal(t.Context(), shop, control.Look{ID: c.id, By: by, Reason: c.reason}); !errors.Is(err, c.err) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if len(m.trail) != 0 {
		t.Errorf("recorded %+v", m.trail)
	}
}
