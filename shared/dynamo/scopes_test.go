package dynamo_test

import (
	"testing"

	"engang/shared/dynamo/dynamotest"
	"engang/shared/object"
)

func TestScopesAreThoseThatHaveAnEndpoint(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		none, err := table.Scopes(t.Context())
		if err != nil || len(none) != 0 {
			t.Errorf("an empty table: %v, %v", none, err)
		}
		prod := object.Scope{Tenant: "shop", Environment: "production"}
		for name, scope := range map[string]object.Scope{"b": shop, "a": shop, "c": prod} {
			if err := table.ClaimAddress(t.Context(), name, scope); err != nil {
				t.Fatal(err)
			}
		}
		got, err := table.Scopes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "scopes", []object.Scope{prod, shop}, got)
	})
}
