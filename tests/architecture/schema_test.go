package architecture_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"engang/infra/local/cloudformation"
	"engang/shared/dynamo/dynamotest"
)

func TestTestsUseTheDeployedTable(t *testing.T) {
	if diff := cmp.Diff(declared(repositoryTemplate(t)), created(dynamotest.Schema("t"))); diff != "" {
		t.Errorf("table of the tests differs from template.yaml (-template +tests):\n%s", diff)
	}
}

// A schema is the part of a table on which its writes and queries rest.
type schema struct {
	Attributes []string // "pk S", sorted
	Keys       []string // "pk HASH"
	Indexes    map[string]index
}

type index struct {
	Keys       []string
	Projection string
}

// declared reads the schema of the template's table.
func declared(tpl *cloudformation.Template) schema {
	r := reader{tpl}
	s := schema{Keys: pairs(r.any("Table", "KeySchema"), "AttributeName", "KeyType"), Indexes: map[string]index{}}
	s.Attributes = pairs(r.any("Table", "AttributeDefinitions"), "AttributeName", "AttributeType")
	slices.Sort(s.Attributes)
	list, _ := r.any("Table", "GlobalSecondaryIndexes").([]any)
	for _, raw := range list {
		m, _ := raw.(map[string]any)
		projection, _ := m["Projection"].(map[string]any)
		s.Indexes[fmt.Sprint(m["IndexName"])] = index{pairs(m["KeySchema"], "AttributeName", "KeyType"), fmt.Sprint(projection["ProjectionType"])}
	}
	return s
}

func pairs(v any, first, second string) []string {
	list, _ := v.([]any)
	var out []string
	for _, raw := range list {
		m, _ := raw.(map[string]any)
		out = append(out, fmt.Sprint(m[first], " ", m[second]))
	}
	return out
}

// created reads the schema of a request that creates a table.
func created(in *dynamodb.CreateTableInput) schema {
	s := schema{Keys: keySchema(in.KeySchema), Indexes: map[string]index{}}
	for _, a := range in.AttributeDefinitions {
		s.Attributes = append(s.Attributes, *a.AttributeName+" "+string(a.AttributeType))
	}
	slices.Sort(s.Attributes)
	for _, i := range in.GlobalSecondaryIndexes {
		s.Indexes[*i.IndexName] = index{keySchema(i.KeySchema), string(i.Projection.ProjectionType)}
	}
	return s
}

func keySchema(list []types.KeySchemaElement) []string {
	var out []string
	for _, k := range list {
		out = append(out, *k.AttributeName+" "+string(k.KeyType))
	}
	return out
}

func TestSchemaRuleSeesADifference(t *testing.T) {
	tpl := repositoryTemplate(t)
	other := dynamotest.Schema("t")
	other.GlobalSecondaryIndexes = other.GlobalSecondaryIndexes[:1]
	if cmp.Equal(declared(tpl), created(other)) {
		t.Error("a missing index went unseen")
	}
	projected := dynamotest.Schema("t")
	projected.GlobalSecondaryIndexes[1].Projection = &types.Projection{ProjectionType: types.ProjectionTypeAll}
	if cmp.Equal(declared(tpl), created(projected)) {
		t.Error("another projection went unseen")
	}
}
