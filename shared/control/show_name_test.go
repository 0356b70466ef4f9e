package control_test

import (
	"errors"
	"testing"

	"engang/shared/inbox"
	"engang/shared/operation"
)

// What a sender calls an object may look like the name of an operation; lists show it, and show finds it.
func TestAnObjectThatIsCalledLikeAnOperationIsShown(t *testing.T) {
	m := newMemory()
	m.event(1, "contact:a/b@1/c", 3)
	m.event(2, "contact:a", 3)
	got, err := m.control().Show(t.Context(), shop, "contact:a/b@1/c", noon.AddDate(0, 0, -3))
	if err != nil || got.Object == nil || got.Object.ID != "contact:a/b@1/c" || len(got.Object.Events) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, id := range []string{"contact:a/b@1/d", "contact:none/b@1/c"} {
		if got, err := m.control().Show(t.Context(), shop, id, noon.AddDate(0, 0, -3)); !errors.Is(err, inbox.ErrNotFound) && !errors.Is(err, operation.ErrNotFound) {
			t.Errorf("%s: %+v, %v", id, got, err)
		}
	}
}
