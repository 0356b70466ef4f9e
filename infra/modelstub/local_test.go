package modelstub_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"testing"

	"engang/infra/configfile"
	"engang/shared/operation"
	"engang/shared/recipe/compiled"
)

// TestLocalRecipesAreContentWithTheStub runs the payloads of the receiver's own samples through the recipes
// of the local system: what a stranger sees first must be a result, and no draft.
func TestLocalRecipesAreContentWithTheStub(t *testing.T) {
	set, err := configfile.Read("../local.yaml")
	if err != nil {
		t.Fatal(err)
	}
	samples := map[string]string{
		"product-card": "../../events/receiver/woocommerce-product-updated.json",
		"contact-note": "../../events/receiver/standard-webhooks-contact-created.json",
	}
	b := newBench(t)
	for _, r := range set.Recipes {
		t.Run(r.Name, func(t *testing.T) {
			path, ok := samples[r.Name]
			if !ok {
				t.Fatal("no sample for this recipe")
			}
			c, err := compiled.New(r)
			if err != nil {
				t.Fatal(err)
			}
			in := input(t, c, sample(t, path))
			a := b.call(t, c, in)
			if a.Outcome != operation.Usable {
				t.Fatalf("outcome %q: %s", a.Outcome, a.Reason)
			}
			if f := c.Check(a.Output, in); f.Unusable != "" || len(f.Flags) > 0 {
				t.Errorf("findings %+v on %s", f, a.Output)
			}
			for _, kind := range []string{"schema", "missing"} {
				b.fail(t, kind, 1)
				spoilt := b.call(t, c, in)
				f := c.Check(spoilt.Output, in)
				if (f.Unusable != "") != (kind == "schema") || (len(f.Flags) > 0) != (kind == "missing") {
					t.Errorf("%s: findings %+v on %s", kind, f, spoilt.Output)
				}
			}
		})
	}
}

func TestFirstRunShowsASummaryTwoTagsAndOneAttribute(t *testing.T) {
	c := card(t)
	a := newBench(t).call(t, c, input(t, c, sample(t, "../../events/receiver/woocommerce-product-updated.json")))
	var got struct {
		Summary    string
		Tags       []string
		Attributes []struct{ Value string }
	}
	if err := json.Unmarshal(a.Output, &got); err != nil {
		t.Fatal(err)
	}
	if got.Summary == "" || len(got.Tags) != 2 || len(got.Attributes) != 1 {
		t.Errorf("output %s", a.Output)
	}
}

// sample is the body within an event as API Gateway sends it.
func sample(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var event struct {
		Body    string `json:"body"`
		Encoded bool   `json:"isBase64Encoded"`
	}
	if err := json.Unmarshal(raw, &event); err != nil {
		t.Fatal(err)
	}
	if !event.Encoded {
		return event.Body
	}
	body, err := base64.StdEncoding.DecodeString(event.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
