package rights

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"engang/infra/local/cloudformation"
)

// A Place is where a system is: what the ARNs of its parts are made of, and the partition keys of its table, by index;
// that of the table itself is under "".
type Place struct {
	Region, Account string
	Hash            map[string]string
}

// In is a place for the table of a template.
func In(t *cloudformation.Template, region, account string) (Place, error) {
	p := Place{Region: region, Account: account, Hash: map[string]string{}}
	for _, id := range t.OfType("AWS::DynamoDB::Table") {
		keys, err := t.Property(cloudformation.Symbols{}, id, "KeySchema")
		if err != nil {
			return p, fmt.Errorf("read keys of the table: %w", err)
		}
		p.Hash[""] = hash(keys)
		indexes, err := t.Property(cloudformation.Symbols{}, id, "GlobalSecondaryIndexes")
		if err != nil && !isMissing(err) {
			return p, fmt.Errorf("read indexes of the table: %w", err)
		}
		list, _ := indexes.([]any)
		for _, index := range list {
			m, _ := index.(map[string]any)
			p.Hash[fmt.Sprint(m["IndexName"])] = hash(m["KeySchema"])
		}
	}
	return p, nil
}

func hash(schema any) string {
	list, _ := schema.([]any)
	for _, key := range list {
		if m, _ := key.(map[string]any); m["KeyType"] == "HASH" {
			return fmt.Sprint(m["AttributeName"])
		}
	}
	return ""
}

// errUnknown says that a request is none whose rights are known here.
var errUnknown = errors.New("what this request needs is not known here")

// Uses tells what a request to AWS asks for, by its address, its header and its body. All of it must be allowed. A
// request that is none to AWS asks for nothing; one that is not known here is an error.
func (p Place) Uses(r *http.Request, body []byte) ([]Use, error) {
	target := r.Header.Get("X-Amz-Target")
	service, operation, _ := strings.Cut(target, ".")
	switch {
	case strings.HasPrefix(service, "DynamoDB_"):
		return p.table(operation, body)
	case service == "AmazonSQS":
		return p.queue(operation, body)
	case service == "AmazonSSM":
		return p.parameters(operation, body)
	case target == "" && strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-"):
		return bucket(r)
	case target == "":
		return nil, nil
	}
	return nil, fmt.Errorf("%s: %w", target, errUnknown)
}

func (p Place) arn(service, resource string) string {
	return "arn:aws:" + service + ":" + p.Region + ":" + p.Account + ":" + resource
}

// queue: what is done to many messages at once is authorised as if done to one.
func (p Place) queue(operation string, body []byte) ([]Use, error) {
	known := []string{"SendMessage", "ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility", "GetQueueAttributes", "GetQueueUrl", "PurgeQueue"}
	action := strings.TrimSuffix(operation, "Batch")
	if !slices.Contains(known, action) {
		return nil, fmt.Errorf("AmazonSQS.%s: %w", operation, errUnknown)
	}
	var in struct{ QueueUrl, QueueName string }
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	name := in.QueueName
	if in.QueueUrl != "" {
		name = path.Base(in.QueueUrl)
	}
	return []Use{{Action: "sqs:" + action, Resource: p.arn("sqs", name)}}, nil
}

func (p Place) parameters(operation string, body []byte) ([]Use, error) {
	var in struct {
		Name, Path string
		Names      []string
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	names := in.Names
	switch operation {
	case "GetParameters", "DeleteParameters":
	case "GetParameter", "PutParameter", "DeleteParameter":
		names = []string{in.Name}
	case "GetParametersByPath":
		names = []string{in.Path}
	default:
		return nil, fmt.Errorf("AmazonSSM.%s: %w", operation, errUnknown)
	}
	var all []Use
	for _, name := range names {
		all = append(all, Use{Action: "ssm:" + operation, Resource: p.arn("ssm", "parameter/"+strings.TrimPrefix(name, "/"))})
	}
	return all, nil
}

// bucket: S3 has neither account nor region in its ARNs. The bucket is the first part of the address's path.
func bucket(r *http.Request) ([]Use, error) {
	name, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	arn, query := "arn:aws:s3:::"+name, r.URL.Query()
	if name != "" && key == "" && r.Method == http.MethodGet && query.Has("list-type") {
		return []Use{{Action: "s3:ListBucket", Resource: arn, Carried: map[string][]string{Prefix: {query.Get("prefix")}}}}, nil
	}
	action := map[string]string{http.MethodGet: "GetObject", http.MethodHead: "GetObject", http.MethodPut: "PutObject", http.MethodDelete: "DeleteObject"}[r.Method]
	if key == "" || action == "" || query.Has("versionId") {
		return nil, fmt.Errorf("%s to a bucket: %w", r.Method, errUnknown)
	}
	return []Use{{Action: "s3:" + action, Resource: arn + "/" + key}}, nil
}

// Tells is the use without which S3 does not tell that an object is not there: it says then that it is not allowed to be
// read. It carries no prefix, so that a statement that demands one does not allow it. Of other uses there is none.
func (u Use) Tells() (Use, bool) {
	if u.Action != "s3:GetObject" {
		return Use{}, false
	}
	arn, _, _ := strings.Cut(u.Resource, "/")
	return Use{Action: "s3:ListBucket", Resource: arn}, true
}

// OfKey lists what a use asks of a key that its table, queue, bucket or parameter is encrypted with: the service uses the
// key in the caller's name.
func (p Place) OfKey(u Use, key string) (all []Use) {
	service, action, _ := strings.Cut(u.Action, ":")
	var needs []string
	switch action {
	case "GetItem", "PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem", "Query", "ReceiveMessage", "GetObject", "GetParameters":
		needs = []string{"kms:Decrypt"}
	case "SendMessage":
		needs = []string{"kms:Decrypt", "kms:GenerateDataKey"}
	case "PutObject":
		needs = []string{"kms:GenerateDataKey"}
	}
	for _, n := range needs {
		all = append(all, Use{Action: n, Resource: key, Carried: map[string][]string{ViaService: {service + "." + p.Region + ".amazonaws.com"}}})
	}
	return all
}
