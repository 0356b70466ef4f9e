package control_test

import (
	"errors"
	"testing"

	"engang/shared/config"
	"engang/shared/control"
	"engang/shared/object"
	"engang/shared/pause"
)

// A misspelt name must not look as if it went on; what is configured no more goes on as long as it is held.
func TestResumeOfWhatThereIsNot(t *testing.T) {
	gone := pause.Model{Scope: shop, Provider: "openai", Name: "gpt-2"}
	for _, c := range []struct {
		name   string
		target pause.Target
		err    error
	}{
		{"an endpoint", target(pause.Endpoint, "woo-shpo"), config.ErrUnknown},
		{"a recipe", target(pause.Recipe, "cards"), config.ErrUnknown},
		{"a model", target(pause.AModel, "openai/gpt-3"), config.ErrUnknown},
		{"everything, where nothing was applied", pause.Target{Scope: object.Scope{Tenant: "none", Environment: "test"}, Kind: pause.Everything}, config.ErrUnknown},
		{"an endpoint that is configured and not held", target(pause.Endpoint, "woo-shop"), nil},
		{"everything, which is not held", target(pause.Everything, ""), nil},
		{"an endpoint that is held and configured no more", target(pause.Endpoint, "old"), nil},
		{"a model whose breaker is open and that nothing asks any more", target(pause.AModel, "openai/gpt-2"), nil},
	} {
		m := newMemory()
		desk := m.pausing(t)
		m.pauses = pause.Pauses{{Target: target(pause.Endpoint, "old"), At: noon, By: "ann"}}
		m.breakers = map[pause.Model]pause.Breaker{gone: {Model: gone, State: pause.Open}}
		_, err := desk.Resume(t.Context(), control.Pausing{Target: c.target, By: "ann", Reason: "why"})
		if !errors.Is(err, c.err) || (c.err != nil) != (len(m.trail) == 0) {
			t.Errorf("%s: %v, recorded %d", c.name, err, len(m.trail))
		}
	}
}
