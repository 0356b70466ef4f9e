// Clients is a function that makes the calls of the receiver's first delivery with the SDK's own clients, and does
// nothing else: what no receiver can do without.
package main

import (
	"context"
	"log"
	"os"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"engang/shared/settings"
)

type clients struct {
	table, queue, path string
	dynamodb           *dynamodb.Client
	sqs                *sqs.Client
	ssm                *ssm.Client
	s3                 *s3.Client
}

func main() {
	r := settings.FromEnv()
	cfg := r.AWS()
	if err := r.Err(); err != nil {
		log.Fatal(err)
	}
	c := clients{os.Getenv("TABLE_NAME"), os.Getenv("WORK_QUEUE_URL"), os.Getenv("SECRET_PATH"), dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { o.DisableValidateResponseChecksum = true }), sqs.NewFromConfig(cfg), ssm.NewFromConfig(cfg), s3.NewFromConfig(cfg)}
	lambda.Start(c.handle)
}

// handle makes three reads of configuration, one of secrets, one write and one send, as a first delivery does.
func (c clients) handle(ctx context.Context, e events.APIGatewayV2HTTPRequest) (out events.APIGatewayV2HTTPResponse, err error) {
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	for _, sk := range []string{"a", "b", "c"} {
		if _, err = c.dynamodb.GetItem(ctx, &dynamodb.GetItemInput{TableName: &c.table, Key: map[string]types.AttributeValue{"pk": text("X#clients"), "sk": text(sk)}}); err != nil {
			return out, err
		}
	}
	if _, err = c.ssm.GetParameters(ctx, &ssm.GetParametersInput{Names: []string{c.path + "/hooks/woo-shop/1"}, WithDecryption: aws.Bool(true)}); err != nil {
		return out, err
	}
	if _, err = c.dynamodb.PutItem(ctx, &dynamodb.PutItemInput{TableName: &c.table, Item: map[string]types.AttributeValue{"pk": text("X#clients"), "sk": text("d"), "body": text(e.Body)}}); err != nil {
		return out, err
	}
	if _, err = c.sqs.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &c.queue, MessageBody: aws.String("{}")}); err != nil {
		return out, err
	}
	return events.APIGatewayV2HTTPResponse{StatusCode: 200}, nil
}
