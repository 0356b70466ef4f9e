package control_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"engang/shared/control"
	"engang/shared/object"
)

var mug = object.ID{Kind: "product", Value: "8"}

// forged is a cursor of which a caller has changed something.
func forged(t *testing.T, cursor string, change func(journey map[string]any)) string {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		t.Fatal(err)
	}
	journey := map[string]any{}
	if err := json.Unmarshal(raw, &journey); err != nil {
		t.Fatal(err)
	}
	change(journey)
	return base64.RawURLEncoding.EncodeToString([]byte(toJSON(t, journey)))
}

// from sets where a journey goes on, as whoever knows the form of a cursor can.
func from(stage string) func(map[string]any) {
	return func(journey map[string]any) { journey["stage"] = stage }
}

// A cursor is good for the act that it came from, by whoever began it. With another one's, an act would pass for one
// that is recorded, and nothing would name it.
func TestACursorGoesOnWithItsOwnErrandOnly(t *testing.T) {
	type call struct {
		scope  object.Scope
		act    string
		object object.ID
		by     string
		reason string
		change func(map[string]any)
	}
	begun := call{shop, "", chair, "ann", "asked to", from("")}
	for _, c := range []struct {
		name   string
		change func(*call)
	}{
		{"another object", func(c *call) { c.object = mug }},
		{"another object, written into it", func(c *call) {
			c.object = mug
			c.change = func(j map[string]any) { j["stage"], j["of"].(map[string]any)["object"] = "", mug.String() }
		}},
		{"another tenant", func(c *call) { c.scope.Tenant = "other" }},
		{"another caller", func(c *call) { c.by = "eve" }},
		{"another caller, written into it", func(c *call) {
			c.by = "eve"
			c.change = func(j map[string]any) { j["stage"], j["of"].(map[string]any)["by"] = "", "eve" }
		}},
		{"another reason", func(c *call) { c.reason = "none of your business" }},
		{"another act", func(c *call) { c.act = map[string]string{"erase": "export", "export": "erase"}[c.act] }},
		{"of a former version", func(c *call) { c.change = func(j map[string]any) { delete(j, "of") } }},
		{"without an id", func(c *call) { c.change = func(j map[string]any) { j["id"] = "" } }},
		{"of a place before the first", func(c *call) { c.change = func(j map[string]any) { j["index"] = -1 } }},
		{"with a number for its stage", func(c *call) { c.change = func(j map[string]any) { j["stage"] = 1 } }},
		{"of a later version", func(c *call) { c.change = func(j map[string]any) { j["new"] = true } }},
	} {
		for _, act := range []string{"erase", "export"} {
			t.Run(c.name+", "+act, func(t *testing.T) {
				d := newOffice()
				d.event(1, chair.String(), 600)
				d.event(2, mug.String(), 300)
				ask := func(c call, after string) (next string, shown int, err error) {
					if c.act == "export" {
						got, err := d.control().Export(t.Context(), c.scope, control.Exporting{Object: c.object, By: c.by, Reason: c.reason, After: after})
						return got.Next, len(got.Events), err
					}
					got, err := d.control().Erase(t.Context(), c.scope, control.Erasure{Object: c.object, By: c.by, Reason: c.reason, After: after})
					return got.Next, 0, err
				}
				own := begun
				own.act = act
				next, _, err := ask(own, "")
				if err != nil || next == "" {
					t.Fatalf("begun: %v, next %q", err, next)
				}
				if _, _, err := ask(own, next); err != nil {
					t.Errorf("gone on with: %v", err)
				}
				trail, acts := slices.Clone(d.trail), slices.Clone(d.acts)
				other := own
				c.change(&other)
				if _, shown, err := ask(other, forged(t, next, other.change)); !errors.Is(err, control.ErrCursor) || shown != 0 {
					t.Errorf("%d events shown, %v", shown, err)
				}
				if !slices.Equal(d.trail, trail) || !slices.Equal(d.acts, acts) {
					t.Errorf("recorded %+v, did %v", d.trail, d.acts)
				}
			})
		}
	}
}

// What was only counted is not recorded: an erasure that went on from there would leave what was counted.
func TestAnErasureDoesNotGoOnWithACount(t *testing.T) {
	d := newOffice()
	d.event(1, chair.String(), 600)
	counted, err := d.control().Erase(t.Context(), shop, control.Erasure{Object: chair, By: "ann", DryRun: true})
	if err != nil || counted.Next == "" {
		t.Fatalf("%+v, %v", counted, err)
	}
	if _, err := d.control().Erase(t.Context(), shop, control.Erasure{Object: chair, By: "ann", Reason: "why", After: counted.Next}); !errors.Is(err, control.ErrCursor) || len(d.trail) != 0 {
		t.Errorf("%v, recorded %+v", err, d.trail)
	}
}
