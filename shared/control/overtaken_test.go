package control_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"engang/shared/config"
	"engang/shared/control"
	"engang/shared/object"
)

// A racedShelf is applied to by somebody else between the look at what is live and the look at a version.
type racedShelf struct {
	*shelf
	first func()
}

func (s *racedShelf) Version(ctx context.Context, scope object.Scope, kind, name string, version int) ([]byte, error) {
	if first := s.first; version == 4 && first != nil {
		s.first = nil
		first()
	}
	return s.shelf.Version(ctx, scope, kind, name, version)
}

// A version of the faster one refuses ours: that it is not what we looked at is all there is to say.
func TestWhoIsOvertakenBetweenTwoLooksIsToldSo(t *testing.T) {
	n := 0
	m, s := newMemory(), &racedShelf{shelf: newShelf()}
	c := control.New(control.Deps{Store: m, Endpoints: m, Configs: s, Bodies: m, Now: func() time.Time { return noon }, NewID: func() string { n++; return fmt.Sprint("id-", n) }})
	theirs, mine := configuration(), configuration()
	theirs.Recipes[0].Version, theirs.Recipes[0].Instructions = 4, "Be terse."
	mine.Recipes[0].Version, mine.Recipes[0].Instructions = 4, "Be brief."
	apply := func(set config.Set, seen int) error {
		_, err := c.Apply(t.Context(), control.Proposal{Set: set, Seen: seen, By: "ann"})
		return err
	}
	if err := apply(configuration(), 0); err != nil {
		t.Fatal(err)
	}
	s.first = func() {
		if err := apply(theirs, 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := apply(mine, 1); !errors.Is(err, config.ErrMoved) {
		t.Errorf("overtaken: %v", err)
	}
	// Over what is live now it is refused for what it says.
	if faults, ok := errors.AsType[config.Faults](apply(mine, 2)); !ok || len(faults) != 1 {
		t.Errorf("over their revision: %v", faults)
	}
}
