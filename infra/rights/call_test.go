package rights_test

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/infra/local/cloudformation"
	"engang/infra/rights"
)

func place(t *testing.T) rights.Place {
	t.Helper()
	tpl, err := cloudformation.Parse([]byte(template))
	if err != nil {
		t.Fatal(err)
	}
	p, err := rights.In(tpl, "here", "1")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func call(t *testing.T, address, target, body string) *http.Request {
	t.Helper()
	method, path, _ := strings.Cut(address, " ")
	r, err := http.NewRequestWithContext(t.Context(), method, "http://127.0.0.1"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=a/b/here/c/aws4_request")
	if target != "" {
		r.Header.Set("X-Amz-Target", target)
	}
	return r
}

const queue, parameter = "arn:aws:sqs:here:1:q", "arn:aws:ssm:here:1:parameter/"

func TestWhatACallAsksFor(t *testing.T) {
	post, ddb := "POST /", "DynamoDB_20120810."
	for _, c := range []struct {
		name, address, target, body string
		want                        []rights.Use
	}{
		{"put an item", post, ddb + "PutItem", `{"TableName":"t","Item":{"pk":{"S":"E#1"},"sk":{"S":"x"},"n":{"N":"1"}}}`, []rights.Use{{"dynamodb:PutItem", table, leading("E#1")}}},
		{"update by its key", post, ddb + "UpdateItem", `{"TableName":"t","Key":{"sk":{"S":"x"},"pk":{"S":"B#1"}}}`, []rights.Use{{"dynamodb:UpdateItem", table, leading("B#1")}}},
		{"a key that is a number", post, ddb + "GetItem", `{"TableName":"t","Key":{"pk":{"N":"7"}}}`, []rights.Use{{"dynamodb:GetItem", table, leading("7")}}},
		{"query the table", post, ddb + "Query", `{"TableName":"t","KeyConditionExpression":"begins_with(sk, :p) AND #h = :h","ExpressionAttributeNames":{"#h":"pk"},"ExpressionAttributeValues":{":h":{"S":"C#1"},":p":{"S":"x"}}}`, []rights.Use{{"dynamodb:Query", table, leading("C#1")}}},
		{"query an index, whose sort key is compared first", post, ddb + "Query", `{"TableName":"t","IndexName":"open","KeyConditionExpression":"od = :d AND oq=:h","ExpressionAttributeValues":{":h":{"S":"open#1"},":d":{"S":"x"}}}`, []rights.Use{{"dynamodb:Query", table + "/index/open", leading("open#1")}}},
		{"scan", post, ddb + "Scan", `{"TableName":"t"}`, []rights.Use{{"dynamodb:Scan", table, nil}}},
		{"a transaction is its parts", post, ddb + "TransactWriteItems", `{"TransactItems":[{"Update":{"TableName":"t","Key":{"pk":{"S":"E#1"}}}},{"Put":{"TableName":"t","Item":{"pk":{"S":"A#1"}}}},{"Delete":{"TableName":"t","Key":{"pk":{"S":"B#1"}}}},{"ConditionCheck":{"TableName":"t","Key":{"pk":{"S":"C#1"}}}}]}`, []rights.Use{
			{"dynamodb:UpdateItem", table, leading("E#1")}, {"dynamodb:PutItem", table, leading("A#1")}, {"dynamodb:DeleteItem", table, leading("B#1")}, {"dynamodb:ConditionCheckItem", table, leading("C#1")}}},
		{"a transaction of reads", post, ddb + "TransactGetItems", `{"TransactItems":[{"Get":{"TableName":"t","Key":{"pk":{"S":"E#1"}}}}]}`, []rights.Use{{"dynamodb:GetItem", table, leading("E#1")}}},
		{"a batch of reads is one action of its own", post, ddb + "BatchGetItem", `{"RequestItems":{"t":{"Keys":[{"pk":{"S":"E#1"}},{"pk":{"S":"B#1"}}]}}}`, []rights.Use{{"dynamodb:BatchGetItem", table, leading("E#1", "B#1")}}},
		{"a batch of writes", post, ddb + "BatchWriteItem", `{"RequestItems":{"t":[{"PutRequest":{"Item":{"pk":{"S":"E#1"}}}},{"DeleteRequest":{"Key":{"pk":{"S":"B#1"}}}}]}}`, []rights.Use{{"dynamodb:BatchWriteItem", table, leading("E#1", "B#1")}}},
		{"send", post, "AmazonSQS.SendMessage", `{"QueueUrl":"http://127.0.0.1:1/1/q"}`, []rights.Use{{"sqs:SendMessage", queue, nil}}},
		{"many are authorised as one", post, "AmazonSQS.DeleteMessageBatch", `{"QueueUrl":"http://127.0.0.1:1/1/q","Entries":[]}`, []rights.Use{{"sqs:DeleteMessage", queue, nil}}},
		{"a queue by its name", post, "AmazonSQS.GetQueueUrl", `{"QueueName":"q"}`, []rights.Use{{"sqs:GetQueueUrl", queue, nil}}},
		{"each parameter for itself", post, "AmazonSSM.GetParameters", `{"Names":["/e/hooks/a/1","/e/hooks/b/1"],"WithDecryption":true}`, []rights.Use{{"ssm:GetParameters", parameter + "e/hooks/a/1", nil}, {"ssm:GetParameters", parameter + "e/hooks/b/1", nil}}},
		{"one parameter", post, "AmazonSSM.PutParameter", `{"Name":"/e/x"}`, []rights.Use{{"ssm:PutParameter", parameter + "e/x", nil}}},
		{"parameters below a path", post, "AmazonSSM.GetParametersByPath", `{"Path":"/e"}`, []rights.Use{{"ssm:GetParametersByPath", parameter + "e", nil}}},
		{"read an object", "GET /b/raw/e/1?x-id=GetObject", "", "", []rights.Use{{"s3:GetObject", bucket + "/raw/e/1", nil}}},
		{"look at an object", "HEAD /b/raw/e/1", "", "", []rights.Use{{"s3:GetObject", bucket + "/raw/e/1", nil}}},
		{"put an object", "PUT /b/raw/e/1", "", "x", []rights.Use{{"s3:PutObject", bucket + "/raw/e/1", nil}}},
		{"delete an object", "DELETE /b/raw/e/1", "", "", []rights.Use{{"s3:DeleteObject", bucket + "/raw/e/1", nil}}},
		{"list objects", "GET /b?list-type=2&prefix=raw%2Fe%2F", "", "", []rights.Use{{"s3:ListBucket", bucket, map[string][]string{rights.Prefix: {"raw/e/"}}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := place(t).Uses(call(t, c.address, c.target, c.body), []byte(c.body))
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestACallThatIsNotKnownIsNoUse(t *testing.T) {
	for _, c := range []struct{ address, target, body string }{
		{"POST /", "DynamoDB_20120810.ExecuteStatement", `{}`}, {"POST /", "DynamoDB_20120810.TransactWriteItems", `{"TransactItems":[{"Other":{}}]}`},
		{"POST /", "DynamoDB_20120810.GetItem", `no`}, {"POST /", "DynamoDB_20120810.BatchGetItem", `{"RequestItems":{"t":[]}}`}, {"POST /", "AmazonSQS.AddPermission", `{}`},
		{"POST /", "AmazonSQS.SendMessage", `no`}, {"POST /", "AmazonSSM.DescribeParameters", `{}`}, {"POST /", "AmazonSSM.GetParameters", `no`},
		{"POST /", "AWSLambda.Invoke", `{}`}, {"GET /b", "", ""}, {"POST /b/raw?delete", "", ""}, {"GET /b/raw/1?versionId=1", "", ""},
	} {
		if got, err := place(t).Uses(call(t, c.address, c.target, c.body), []byte(c.body)); err == nil {
			t.Errorf("%s %s asks for %v", c.address, c.target, got)
		}
	}
	model := call(t, "POST /v1/responses", "", "{}")
	model.Header.Set("Authorization", "Bearer k")
	if got, err := place(t).Uses(model, []byte("{}")); err != nil || got != nil {
		t.Errorf("a model asks for %v, %v", got, err)
	}
}

func TestWhoSeesThatAnObjectIsNotThere(t *testing.T) {
	got, ok := rights.Use{"s3:GetObject", bucket + "/raw/1", nil}.Tells()
	if diff := cmp.Diff(rights.Use{"s3:ListBucket", bucket, nil}, got); diff != "" || !ok {
		t.Error(diff)
	}
	if _, ok := (rights.Use{"s3:DeleteObject", bucket + "/raw/1", nil}).Tells(); ok {
		t.Error("to delete what is not there is no fault")
	}
}

func TestWhatAUseAsksOfTheKey(t *testing.T) {
	for use, want := range map[string][]string{"sqs:SendMessage": {"kms:Decrypt", "kms:GenerateDataKey"}, "s3:PutObject": {"kms:GenerateDataKey"}, "dynamodb:Query": {"kms:Decrypt"}, "sqs:DeleteMessage": nil} {
		var got []string
		service, _, _ := strings.Cut(use, ":")
		for _, u := range place(t).OfKey(rights.Use{Action: use}, "key") {
			got = append(got, u.Action)
			if u.Resource != "key" || u.Carried[rights.ViaService][0] != service+".here.amazonaws.com" {
				t.Errorf("%s asks for %v", use, u)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", use, diff)
		}
	}
}

func TestARefusalHasTheServicesForm(t *testing.T) {
	for _, c := range []struct {
		use    rights.Use
		status int
		code   string
	}{
		{rights.Use{"dynamodb:PutItem", table, leading("E#secret")}, 400, "com.amazon.coral.service#AccessDeniedException"},
		{rights.Use{"sqs:SendMessage", queue, nil}, 400, "com.amazon.coral.service#AccessDeniedException"},
		{rights.Use{"ssm:GetParameters", parameter + "x", nil}, 400, "com.amazon.coral.service#AccessDeniedException"},
		{rights.Use{"s3:GetObject", bucket + "/raw/<1>", nil}, 403, "AccessDenied"},
	} {
		a := rights.Denied(call(t, "POST /", "x", ""), "arn:aws:sts::1:assumed-role/ARole/a", c.use)
		raw, err := io.ReadAll(a.Body)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Type    string `json:"__type" xml:"Code"`
			Message string
		}
		if c.status == 403 {
			err = xml.Unmarshal(raw, &got)
		} else {
			err = json.Unmarshal(raw, &got)
		}
		says := "User: arn:aws:sts::1:assumed-role/ARole/a is not authorized to perform: " + c.use.Action + " on resource: " + c.use.Resource + " because no identity-based policy allows the " + c.use.Action + " action"
		if err != nil || a.StatusCode != c.status || got.Type != c.code || got.Message != says {
			t.Errorf("%s: %d %s %v", c.use, a.StatusCode, raw, err)
		}
		if strings.Contains(string(raw), "secret") || strings.Contains(c.use.String(), "secret") {
			t.Error("it tells more of the key than its kind")
		}
	}
}
