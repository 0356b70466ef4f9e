package rights

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// request is the part of a DynamoDB request that says what it is about.
type request struct {
	TableName, IndexName      string
	Key, Item                 map[string]json.RawMessage
	KeyConditionExpression    string
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues map[string]json.RawMessage
	TransactItems             []map[string]request
	RequestItems              map[string]json.RawMessage
}

// inTransaction is how the parts of a transaction are authorised: as if each came alone.
var inTransaction = map[string]string{"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "Get": "GetItem", "ConditionCheck": "ConditionCheckItem"}

func (p Place) table(operation string, body []byte) ([]Use, error) {
	var in request
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	switch operation {
	case "GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "Scan", "DescribeTable":
		return []Use{p.item(operation, in)}, nil
	case "BatchGetItem", "BatchWriteItem":
		return p.batch(operation, in)
	case "TransactWriteItems", "TransactGetItems":
		var all []Use
		for _, part := range in.TransactItems {
			for kind, one := range part {
				action, known := inTransaction[kind]
				if !known {
					return nil, fmt.Errorf("%s in a transaction: %w", kind, errUnknown)
				}
				all = append(all, p.item(action, one))
			}
		}
		return all, nil
	}
	return nil, fmt.Errorf("DynamoDB's %s: %w", operation, errUnknown)
}

// item is what a request about one item, one collection or the whole table asks for.
func (p Place) item(action string, in request) Use {
	u := Use{Action: "dynamodb:" + action, Resource: p.arn("dynamodb", "table/"+in.TableName)}
	if in.IndexName != "" {
		u.Resource += "/index/" + in.IndexName
	}
	if key, ok := p.leading(in); ok {
		u.Carried = map[string][]string{LeadingKeys: {key}}
	}
	return u
}

var equality = regexp.MustCompile(`([#A-Za-z0-9_]+)\s*=\s*(:[A-Za-z0-9_]+)`)

// leading is the partition key that a request names.
func (p Place) leading(in request) (string, bool) {
	hash := p.Hash[in.IndexName]
	for _, m := range equality.FindAllStringSubmatch(in.KeyConditionExpression, -1) {
		name := m[1]
		if strings.HasPrefix(name, "#") {
			name = in.ExpressionAttributeNames[name]
		}
		if name == hash {
			return scalar(in.ExpressionAttributeValues[m[2]])
		}
	}
	if v, ok := in.Key[hash]; ok {
		return scalar(v)
	}
	return scalar(in.Item[hash])
}

// scalar is the value of a key, which is a text or a number.
func scalar(raw json.RawMessage) (string, bool) {
	var v struct{ S, N *string }
	if json.Unmarshal(raw, &v) != nil {
		return "", false
	}
	for _, s := range []*string{v.S, v.N} {
		if s != nil {
			return *s, true
		}
	}
	return "", false
}

// batch is authorised by an action of its own, once for each table, with the keys of all its items.
func (p Place) batch(action string, in request) ([]Use, error) {
	var all []Use
	for _, table := range slices.Sorted(maps.Keys(in.RequestItems)) {
		var get struct{ Keys []map[string]json.RawMessage }
		var write []map[string]request
		into := any(&get)
		if action == "BatchWriteItem" {
			into = &write
		}
		if err := json.Unmarshal(in.RequestItems[table], into); err != nil {
			return nil, fmt.Errorf("read request: %w", err)
		}
		u := Use{Action: "dynamodb:" + action, Resource: p.arn("dynamodb", "table/"+table), Carried: map[string][]string{}}
		add := func(in request) {
			if key, ok := p.leading(in); ok {
				u.Carried[LeadingKeys] = append(u.Carried[LeadingKeys], key)
			}
		}
		for _, key := range get.Keys {
			add(request{Key: key})
		}
		for _, part := range write {
			for _, one := range part {
				add(one)
			}
		}
		all = append(all, u)
	}
	return all, nil
}
