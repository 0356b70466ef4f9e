package dynamotest_test

import (
	"slices"
	"testing"

	"engang/shared/dynamo/dynamotest"
)

// In CI an absent reference engine fails the run: a contract that was not held against it does not count.
func TestWhereTestsRun(t *testing.T) {
	for _, tt := range []struct {
		name    string
		env     map[string]string
		engines []string // nil: the run fails
	}{
		{"by a person", nil, []string{"embedded"}},
		{"by a person with a reference engine", map[string]string{dynamotest.ReferenceEnv: "http://127.0.0.1:1"}, []string{"embedded", "reference"}},
		{"in CI", map[string]string{"CI": "true", dynamotest.ReferenceEnv: "http://127.0.0.1:1"}, []string{"embedded", "reference"}},
		{"in CI without a reference engine", map[string]string{"CI": "true"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			engines, err := dynamotest.Places(func(name string) string { return tt.env[name] })
			if (err != nil) != (tt.engines == nil) || !slices.Equal(engines, tt.engines) {
				t.Errorf("%v, %v", engines, err)
			}
		})
	}
}

func TestEachTableIsItsOwn(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		other := db.Fresh(t)
		if other.TableName == db.TableName || other.Engine != db.Engine || other.Endpoint != db.Endpoint {
			t.Errorf("%+v and %+v", db, other)
		}
		if db.Reference() != (db.Engine == "reference") {
			t.Errorf("%+v is a reference: %t", db, db.Reference())
		}
	})
	if db := dynamotest.Embedded(t); db.Engine != "embedded" || db.Endpoint == "" {
		t.Errorf("%+v", db)
	}
}
