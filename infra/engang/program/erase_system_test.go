package program_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"engang/infra/local"
	"engang/infra/local/localtest"
	"engang/shared/control"
)

func TestARunningSystemExportsAndErases(t *testing.T) {
	t.Parallel()
	schema := answers(t)
	s := localtest.Start(t, local.Options{Speed: 60})
	if code, _, stderr := live(t, s, "send", "woocommerce/product.updated", "--set", "/id=900", "--set", "/name=Grandmother's chair", "--repeat", "3", "--wait"); code != 0 {
		t.Fatal(stderr)
	}
	file := filepath.Join(t.TempDir(), "export.json")
	if code, _, stderr := live(t, s, "export", "--object", "product:900", "--reason", "a request", "--out", file); code != 0 {
		t.Fatal(stderr)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	fits(t, schema, "export", string(raw))
	var doc struct {
		Events []struct {
			Event control.Event
			Body  struct{ Name string }
		}
		Operations []struct{ Output json.RawMessage }
		Recipients []control.Recipient
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Events) != 1 || doc.Events[0].Body.Name != "Grandmother's chair" || doc.Events[0].Event.Deliveries != 3 || len(doc.Operations) != 1 || len(doc.Operations[0].Output) == 0 {
		t.Errorf("exported %s", raw)
	}
	if len(doc.Recipients) != 1 || doc.Recipients[0].Name != "openai" || doc.Recipients[0].Calls != 1 {
		t.Errorf("recipients %+v", doc.Recipients)
	}

	code, stdout, stderr := live(t, s, "erase", "--object", "product:900", "--dry-run", "--json")
	if fits(t, schema, "erase --dry-run", stdout); code != 0 || !strings.Contains(stdout, `"events":1`) {
		t.Errorf("exit %d %s%s", code, stdout, stderr)
	}
	// What came before may be under way, and is looked for once more.
	if code, _, stderr := live(t, s, "send", "woocommerce/product.updated", "--set", "/id=900", "--set", "/name=Grandfather's chair", "--wait"); code != 0 {
		t.Fatal(stderr)
	}
	code, stdout, stderr = live(t, s, "erase", "--object", "product:900", "--reason", "asked to be forgotten")
	if code != 0 || !strings.HasPrefix(stdout, "product:900: 2 events emptied, 3 operations, attempts and results removed") || !strings.Contains(stderr, "the next look is at") {
		t.Errorf("exit %d %s%s", code, stdout, stderr)
	}
	if code, stdout, _ := live(t, s, "show", "product:900"); code != 3 || stdout != "" {
		t.Errorf("exit %d %s", code, stdout)
	}
	code, stdout, _ = live(t, s, "show", doc.Events[0].Event.ID, "--json")
	if fits(t, schema, "show", stdout); code != 0 || !strings.Contains(stdout, `"erased_at":`) || strings.Contains(stdout, "product:900") {
		t.Errorf("exit %d %s", code, stdout)
	}
	if code, _, stderr := live(t, s, "show", doc.Events[0].Event.ID, "--body", "--reason", "a look"); code != 3 {
		t.Errorf("its body: exit %d %s", code, stderr)
	}
	code, stdout, stderr = live(t, s, "send", "woocommerce/product.updated", "--set", "/id=900", "--set", "/name=Grandmother's chair", "--json")
	if code != 0 || !strings.Contains(stdout, `"duplicate":1`) {
		t.Errorf("a repeat: exit %d %s%s", code, stdout, stderr)
	}
}
