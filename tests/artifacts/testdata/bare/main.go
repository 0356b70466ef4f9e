// Bare is a function that makes the calls of the receiver's first delivery with net/http and a signature, and does
// nothing else: no client, no retry, no endpoint rules. No function that makes these calls can start faster.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"engang/shared/settings"
)

type bare struct {
	table, queue, path string
	aws                aws.Config
	signer             *v4.Signer
}

func main() {
	r := settings.FromEnv()
	b := bare{os.Getenv("TABLE_NAME"), os.Getenv("WORK_QUEUE_URL"), os.Getenv("SECRET_PATH"), r.AWS(), v4.NewSigner()}
	if err := r.Err(); err != nil {
		log.Fatal(err)
	}
	lambda.Start(b.handle)
}

type text struct{ S string }

// handle makes three reads of configuration, one of secrets, one write and one send, as a first delivery does.
func (b bare) handle(ctx context.Context, e events.APIGatewayV2HTTPRequest) (out events.APIGatewayV2HTTPResponse, err error) {
	read := func(sk string) any {
		return map[string]any{"TableName": b.table, "Key": map[string]text{"pk": {"X#bare"}, "sk": {sk}}}
	}
	for _, c := range []struct {
		service, target string
		body            any
	}{
		{"dynamodb", "DynamoDB_20120810.GetItem", read("a")},
		{"dynamodb", "DynamoDB_20120810.GetItem", read("b")},
		{"dynamodb", "DynamoDB_20120810.GetItem", read("c")},
		{"ssm", "AmazonSSM.GetParameters", map[string]any{"Names": []string{b.path + "/hooks/woo-shop/1"}, "WithDecryption": true}},
		{"dynamodb", "DynamoDB_20120810.PutItem", map[string]any{"TableName": b.table, "Item": map[string]text{"pk": {"X#bare"}, "sk": {"d"}, "body": {e.Body}}}},
		{"sqs", "AmazonSQS.SendMessage", map[string]any{"QueueUrl": b.queue, "MessageBody": "{}"}},
	} {
		if err := b.call(ctx, c.service, c.target, c.body); err != nil {
			return out, err
		}
	}
	return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusOK}, nil
}

func (b bare) call(ctx context.Context, service, target string, body any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, *b.aws.BaseEndpoint, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	req.Header.Set("X-Amz-Target", target)
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	if service == "ssm" {
		req.Header.Set("Content-Type", "application/x-amz-json-1.1")
	}
	role, err := b.aws.Credentials.Retrieve(ctx)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(raw)
	if err := b.signer.SignHTTP(ctx, role, req, hex.EncodeToString(sum[:]), service, b.aws.Region, time.Now()); err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %d %s", target, res.StatusCode, answer)
	}
	var decoded map[string]any
	return json.Unmarshal(answer, &decoded)
}
