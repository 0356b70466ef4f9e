package document_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/shared/document"
)

func TestPointerSteps(t *testing.T) {
	p, err := document.ParsePointer("/a~1b/*/~0/")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a/b", "*", "~", ""}
	steps := p.Steps()
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	steps[0] = "changed"
	if diff := cmp.Diff(want, p.Steps()); diff != "" {
		t.Errorf("the caller's change reached the pointer (-want +got):\n%s", diff)
	}
	if got := (document.Pointer{}).Steps(); len(got) != 0 {
		t.Errorf("the whole document has steps %q", got)
	}
}
