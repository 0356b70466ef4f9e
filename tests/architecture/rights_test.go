package architecture_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sivchari/kumo"

	"engang/infra/local/cloudformation"
	"engang/infra/local/wire"
)

// A use is one thing that a function did to a resource.
type use struct {
	function string // "receiver"
	action   string // "dynamodb:PutItem"
	resource string // "<Table.Arn>"; empty: of any name
	key      string // partition key, where there is one
}

func (u use) String() string {
	kind, _, _ := strings.Cut(u.key, "#")
	return strings.TrimSpace(fmt.Sprintf("%s %s %s %s", u.function, u.action, u.resource, kind))
}

// unpermitted finds what functions did that their roles do not allow.
func unpermitted(tpl *cloudformation.Template, uses []use) []string {
	var faults []string
	for _, u := range uses {
		if !slices.ContainsFunc(rights(tpl, role(u.function)), func(s statement) bool { return allows(s, u) }) {
			faults = append(faults, u.String()+" is not allowed")
		}
	}
	slices.Sort(faults)
	return slices.Compact(faults)
}

// unused finds rights that no use needed: action by action, key by key.
func unused(tpl *cloudformation.Template, function string, uses []use) []string {
	var faults []string
	for _, s := range rights(tpl, role(function)) {
		for _, action := range s.actions {
			keys := leading(s)
			if len(keys) == 0 {
				keys = []string{""}
			}
			for _, key := range keys {
				one := s
				one.actions = []string{action}
				if key != "" {
					one.condition = map[string]any{"ForAllValues:StringLike": map[string]any{"dynamodb:LeadingKeys": key}}
				}
				needed := func(u use) bool { return u.function == function && allows(one, u) }
				if !slices.ContainsFunc(uses, needed) {
					faults = append(faults, strings.TrimSpace(fmt.Sprintf("%s %s %s", function, action, strings.TrimSuffix(key, "#*"))))
				}
			}
		}
	}
	return faults
}

// role is the logical id of a function's role: receiver's is ReceiverRole.
func role(function string) string { return strings.TrimSuffix(resource(function), "Function") + "Role" }

func allows(s statement, u use) bool {
	if s.effect != "Allow" || !slices.Contains(s.actions, u.action) {
		return false
	}
	if u.resource != "" && !slices.ContainsFunc(s.resources, func(r string) bool { return like(r, u.resource) }) {
		return false
	}
	keys := leading(s)
	return len(keys) == 0 || u.key != "" && slices.ContainsFunc(keys, func(k string) bool { return like(k, u.key) })
}

func leading(s statement) []string {
	m, _ := s.condition["ForAllValues:StringLike"].(map[string]any)
	return texts(m["dynamodb:LeadingKeys"])
}

// like matches as IAM does, with the one wildcard that we use.
func like(pattern, text string) bool {
	head, wild := strings.CutSuffix(pattern, "*")
	return pattern == text || wild && strings.HasPrefix(text, head)
}

func TestRightsRuleFindsWhatIsMissingAndWhatIsTooMuch(t *testing.T) {
	tpl := parse(t, `
Resources:
  ARole:
    Type: AWS::IAM::Role
    Properties:
      Policies:
        - PolicyDocument:
            Statement:
              - Effect: Allow
                Action: ["dynamodb:PutItem", "dynamodb:UpdateItem"]
                Resource: !GetAtt Table.Arn
                Condition: {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["E#*", "B#*"]}}
              - {Effect: Allow, Action: ["dynamodb:Query"], Resource: !Sub "${Table.Arn}/index/open"}
`)
	uses := []use{
		{"a", "dynamodb:PutItem", "<Table.Arn>", "E#evt_1"},
		{"a", "dynamodb:PutItem", "<Table.Arn>", "C#t#e"},
		{"a", "dynamodb:DeleteItem", "<Table.Arn>", "E#evt_1"},
		{"a", "dynamodb:UpdateItem", "<Table.Arn>", ""},
		{"a", "dynamodb:Query", "<Table.Arn>/index/list", ""},
		{"a", "dynamodb:Query", "<Table.Arn>/index/open", "open#3"},
	}
	found(t, unpermitted(tpl, uses), "a dynamodb:PutItem <Table.Arn> C is not allowed", "a dynamodb:DeleteItem <Table.Arn> E is not allowed",
		"a dynamodb:UpdateItem <Table.Arn> is not allowed", "a dynamodb:Query <Table.Arn>/index/list is not allowed")
	found(t, unused(tpl, "a", uses), "a dynamodb:PutItem B", "a dynamodb:UpdateItem E", "a dynamodb:UpdateItem B")
}

// A watch stands in front of the engine and sees what each function does to the table.
type watch struct {
	url string

	mu       sync.Mutex
	callers  map[string]string // by the SDK's invocation id
	requests []seen
	others   []wire.Call // to anything but the table
}

type seen struct {
	id, operation string
	body          []byte
}

func newWatch(t *testing.T) *watch {
	t.Helper()
	engine, err := url.Parse(kumo.NewServer().URL)
	if err != nil {
		t.Fatal(err)
	}
	w := &watch{callers: map[string]string{}}
	proxy := httputil.NewSingleHostReverseProxy(engine)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(rw, "unreadable", http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		w.mu.Lock()
		w.requests = append(w.requests, seen{r.Header.Get("Amz-Sdk-Invocation-Id"), path.Ext(r.Header.Get("X-Amz-Target")), body})
		w.mu.Unlock()
		proxy.ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	w.url = server.URL
	return w
}

// judge lets every call pass, and remembers whose it is.
func (w *watch) judge(c wire.Call, _ wire.Phase) wire.Verdict {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case c.Function == "": // the event source
	case c.Service == "dynamodb":
		w.callers[c.ID] = c.Function
	case c.Service != "model":
		w.others = append(w.others, c)
	}
	return wire.Pass
}

// uses gives what the functions did to the table, and by the names of their calls to everything else.
func (w *watch) uses(t *testing.T) []use {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []use
	for _, r := range w.requests {
		if function := w.callers[r.id]; function != "" {
			all = append(all, tableUses(t, function, r)...)
		}
	}
	byName := map[string]use{
		"put body":    {action: "s3:PutObject", resource: "<Bodies.Arn>/raw/x"},
		"read body":   {action: "s3:GetObject", resource: "<Bodies.Arn>/raw/x"},
		"list bodies": {action: "s3:ListBucket", resource: "<Bodies.Arn>"}, "erase body": {action: "s3:DeleteObject", resource: "<Bodies.Arn>/raw/x"},
		"send event":   {action: "sqs:SendMessage", resource: "<WorkQueue.Arn>"},
		"send notice":  {action: "sqs:SendMessage", resource: "<WorkDeadLetterQueue.Arn>"},
		"read backlog": {action: "sqs:GetQueueAttributes", resource: "<WorkQueue.Arn>"}, "change visibility": {action: "sqs:ChangeMessageVisibility", resource: "<WorkQueue.Arn>"},
		"receive letters": {action: "sqs:ReceiveMessage", resource: "<WorkDeadLetterQueue.Arn>"}, "return letters": {action: "sqs:ChangeMessageVisibility", resource: "<WorkDeadLetterQueue.Arn>"},
		"delete letters": {action: "sqs:DeleteMessage", resource: "<WorkDeadLetterQueue.Arn>"},
		"read secrets":   {action: "ssm:GetParameters"},
	}
	for _, c := range w.others {
		u, ok := byName[c.Name]
		if !ok {
			t.Errorf("%s calls %q of %s, which this test does not know", c.Function, c.Name, c.Service)
			continue
		}
		u.function = c.Function
		all = append(all, u)
	}
	return all
}

// request is the part of a DynamoDB request that says what it is about.
type request struct {
	IndexName                 string
	Key, Item                 map[string]map[string]any
	ExpressionAttributeValues map[string]map[string]any
	TransactItems             []map[string]request
}

func tableUses(t *testing.T, function string, r seen) []use {
	t.Helper()
	var in request
	if err := json.Unmarshal(r.body, &in); err != nil {
		t.Fatalf("request %s is no JSON: %v", r.operation, err)
	}
	if len(in.TransactItems) == 0 {
		return []use{in.use(function, strings.TrimPrefix(r.operation, "."))}
	}
	var all []use
	for _, part := range in.TransactItems { // a transaction is authorised as its single actions
		for kind, one := range part {
			if kind != "ConditionCheck" {
				kind = strings.TrimSuffix(kind, "Item")
			}
			all = append(all, one.use(function, kind+"Item"))
		}
	}
	return all
}

func (in request) use(function, operation string) use {
	u := use{function: function, action: "dynamodb:" + operation, resource: "<Table.Arn>"}
	if in.IndexName != "" {
		u.resource += "/index/" + in.IndexName
	}
	for _, item := range []map[string]map[string]any{in.Key, in.Item} {
		if pk, ok := item["pk"]["S"].(string); ok {
			u.key = pk
		}
	}
	if hash, ok := in.ExpressionAttributeValues[":hash"]["S"].(string); ok && operation == "Query" && in.IndexName == "" { // the key condition of a collection
		u.key = hash
	}
	return u
}
