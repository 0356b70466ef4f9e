package local_test

import (
	"net/http"
	"strings"
	"testing"

	"engang/infra/local"
	"engang/infra/local/localtest"
)

// The faults of the model are held by the stub: they stand in the list like the others, and count down.
func TestFaultsThatAreStillToStrikeAreListed(t *testing.T) {
	t.Parallel()
	s := localtest.Start(t, local.Options{Manual: true, Faults: "model:429x2,store:lost@W9"})
	answer, err := http.Post(s.URL()+"/local/faults", "text/plain", strings.NewReader("model:refusal"))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	pending := func() string {
		var list struct {
			Pending []struct {
				Part, Kind string
				Times      int
			}
		}
		look(t, s, "/local/faults", &list)
		var words []string
		for _, f := range list.Pending {
			words = append(words, strings.Repeat(f.Part+":"+f.Kind+" ", f.Times))
		}
		return strings.Join(words, "")
	}
	if got, want := pending(), "store:lost@W9 model:429 model:429 model:refusal "; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	deliver(t, s, product)
	if _, err := s.Work(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := pending(), "store:lost@W9 model:429 model:refusal "; got != want {
		t.Errorf("after a call: %q, want %q", got, want)
	}
}

// What is overlooked would look as if it struck.
func TestFaultsThatNobodyReadsAreRefused(t *testing.T) {
	t.Parallel()
	s := localtest.Start(t, local.Options{Manual: true})
	for body, status := range map[string]int{
		`{"part":"model","kind":"429"}`: 400, `{"faults":"model:429","times":3}`: 400, `{}`: 400, `{"faults":""}`: 400, `[{"faults":"model:429"}]`: 400, `{"faults":"model:429x2"}`: 200,
	} {
		answer, err := http.Post(s.URL()+"/local/faults", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != status {
			t.Errorf("%s: %d, want %d", body, answer.StatusCode, status)
		}
	}
}
