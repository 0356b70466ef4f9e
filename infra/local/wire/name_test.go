package wire_test

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"testing"

	"engang/infra/local/wire"
)

var statement = regexp.MustCompile(`(\w+)\s+= write\("([^"]+)", "([^"]*)"`)

// Every write that changes an item is told by its expression, so that a fault meant for it strikes in another
// process too.
func TestAnUpdateIsToldByItsExpression(t *testing.T) {
	source, err := os.ReadFile("../../../shared/dynamo/expr.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, m := range statement.FindAllSubmatch(source, -1) {
		variable, call, update := string(m[1]), string(m[2]), string(m[3])
		if update == "" {
			continue
		}
		seen++
		for _, target := range []string{"UpdateItem", "TransactWriteItems"} {
			one := map[string]any{"UpdateExpression": update}
			body, err := json.Marshal(map[string]any{"UpdateExpression": update, "TransactItems": []any{map[string]any{"Update": one}}})
			if err != nil {
				t.Fatal(err)
			}
			r := &http.Request{Header: http.Header{"X-Amz-Target": {"DynamoDB_20120810." + target}}}
			if got := wire.NameOf(r, body); got != call {
				t.Errorf("%s by %s is told as %q, want %q", variable, target, got, call)
			}
		}
	}
	if seen < 30 {
		t.Fatalf("only %d statements found: the rule would see nothing", seen)
	}
}
