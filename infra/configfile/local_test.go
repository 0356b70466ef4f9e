package configfile_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/infra"
	"engang/infra/configfile"
	"engang/shared/config"
	"engang/shared/config/apply"
	"engang/shared/document"
	"engang/shared/recipe/compiled"
)

func local(t testing.TB) config.Set {
	t.Helper()
	set, err := configfile.Read("../local.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestLocalFileIsThatOfTheDocumentation(t *testing.T) {
	set := local(t)
	first, _, _ := strings.Cut(string(infra.LocalConfig), "\n")
	if first != "# yaml-language-server: $schema=config.schema.json" {
		t.Errorf("first line %q does not lead an editor to the schema", first)
	}
	var got []string
	for _, e := range set.Endpoints {
		got = append(got, "endpoint "+e.Name+" of "+e.Provider)
	}
	for _, r := range set.Recipes {
		got = append(got, "recipe "+r.Ref().String()+" with policy "+string(r.Policy))
	}
	want := []string{"endpoint crm of standard-webhooks", "endpoint woo-shop of woocommerce", "recipe contact-note@1 with policy auto", "recipe product-card@3 with policy auto"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("endpoints and recipes (-want +got):\n%s", diff)
	}
	if set.Scope.String() != "shop/test" || set.Common.EventDays != 30 || set.Common.ResultDays != 400 {
		t.Errorf("scope %s, %d and %d days", set.Scope, set.Common.EventDays, set.Common.ResultDays)
	}
}

// The pointers of the recipes must fit what senders really send.
func TestLocalRecipesFitTheSamplePayloads(t *testing.T) {
	tests := []struct{ recipe, file, want string }{
		{"product-card", "woocommerce-product-updated.json", `{"categories":["Uncategorized"],"description":"line1\nline2 &","language":"no","name":"Mug / Åäö 漢字 🙂 <b>\"x\"</b>"}`},
		{"contact-note", "standard-webhooks-contact-created.json", `{"company":"Nordlys Kaffe","event":"contact.created","interest":"office coffee for 40 people","language":"en"}`},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			in, err := ready(t, test.recipe).Extract(payload(t, test.file))
			if err != nil {
				t.Fatal(err)
			}
			if got := string(in.JSON); got != test.want {
				t.Errorf("input %s\nwant  %s", got, test.want)
			}
		})
	}
	for _, e := range local(t).Endpoints {
		for event, rule := range e.Events {
			file := map[string]string{"product.updated": "woocommerce-product-updated.json", "contact.created": "standard-webhooks-contact-created.json"}[event]
			if file == "" {
				continue
			}
			for what, p := range map[string]*document.Pointer{"object": &rule.Object.ID, "version": rule.Version} {
				if v, ok := p.Find(payload(t, file)); !ok || v == nil {
					t.Errorf("%s of %s: nothing at %s of the sample", what, event, p)
				}
			}
		}
	}
}

func ready(t *testing.T, name string) *compiled.Recipe {
	t.Helper()
	for _, r := range local(t).Recipes {
		if r.Name == name {
			c, err := compiled.New(r)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
	}
	t.Fatalf("no recipe %s", name)
	return nil
}

// payload is the body of a sample request to the receiver.
func payload(t *testing.T, file string) any {
	t.Helper()
	raw, err := os.ReadFile("../../events/receiver/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var request struct {
		Body            string `json:"body"`
		IsBase64Encoded bool   `json:"isBase64Encoded"`
	}
	if err := json.Unmarshal(raw, &request); err != nil {
		t.Fatal(err)
	}
	body := []byte(request.Body)
	if request.IsBase64Encoded {
		if body, err = base64.StdEncoding.DecodeString(request.Body); err != nil {
			t.Fatal(err)
		}
	}
	v, err := document.Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Whoever copies the example starts without warnings.
func TestNothingInTheLocalFileIsWorthAWarning(t *testing.T) {
	if found := apply.Warnings(local(t), time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)); len(found) > 0 {
		t.Error(found)
	}
}
