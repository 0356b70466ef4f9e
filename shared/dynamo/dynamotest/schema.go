package dynamotest

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Schema is the table as template.yaml declares it: keys and both indexes.
func Schema(table string) *dynamodb.CreateTableInput {
	var attributes []types.AttributeDefinition
	for _, name := range []string{"pk", "sk", "oq", "od", "lq", "ld"} {
		attributes = append(attributes, types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeTypeS})
	}
	return &dynamodb.CreateTableInput{
		TableName: &table, BillingMode: types.BillingModePayPerRequest, AttributeDefinitions: attributes, KeySchema: keys("pk", "sk"),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{index("open", "oq", "od"), index("list", "lq", "ld")},
	}
}

func keys(hash, sort string) []types.KeySchemaElement {
	return []types.KeySchemaElement{{AttributeName: &hash, KeyType: types.KeyTypeHash}, {AttributeName: &sort, KeyType: types.KeyTypeRange}}
}

func index(name, hash, sort string) types.GlobalSecondaryIndex {
	return types.GlobalSecondaryIndex{IndexName: &name, KeySchema: keys(hash, sort), Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}}
}
