package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	receiver "engang/functions/receiver/handler"
	"engang/shared/dynamo"
	"engang/shared/telemetry"
)

// blockSize is how many deliveries follow each other before the bare calls have their turn.
const blockSize = 20

// A stopwatch is a transport that measures how long calls wait for their answers. It carries one call at a time.
type stopwatch struct {
	next  http.RoundTripper
	spent time.Duration
	calls int
}

// RoundTrip carries a call, and takes its whole answer in.
func (w *stopwatch) RoundTrip(r *http.Request) (*http.Response, error) {
	began := time.Now()
	answer, err := w.next.RoundTrip(r)
	if err == nil {
		var body []byte
		body, err = io.ReadAll(answer.Body)
		answer.Body.Close()
		answer.Body = io.NopCloser(bytes.NewReader(body))
	}
	w.spent += time.Since(began)
	w.calls++
	return answer, err
}

// A stand is the receiver as it is deployed, without its process, and the two calls that it makes.
type stand struct {
	watch    *stopwatch
	function lambda.Handler
	table    *dynamodb.Client
	queue    *sqs.Client
	put      dynamodb.PutItemInput
	send     sqs.SendMessageInput
	made     int
}

func (s *side) stand(ctx context.Context) (*stand, error) {
	path, err := s.SecretPath()
	if err != nil {
		return nil, err
	}
	st := &stand{watch: &stopwatch{}}
	cfg := s.Direct(func(next http.RoundTripper) http.RoundTripper { st.watch.next = next; return st.watch })
	set := receiver.Settings{
		Table: s.TableName(), WorkQueue: s.QueueURL("WorkQueue"), Bodies: s.BucketName("Bodies"), SecretPath: path,
		ConfigTTL: time.Hour, SecretTTL: time.Hour, // what is read once in seconds is no part of a delivery
	}
	st.function = receiver.New(set, cfg, telemetry.NewLogger(io.Discard, telemetry.Process{Function: "receiver"}))
	st.table = dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { o.DisableValidateResponseChecksum = true })
	st.queue = sqs.NewFromConfig(cfg)
	return st, st.prepare(ctx, s, set)
}

// prepare makes one delivery, and calls that are as large as those that it made.
func (st *stand) prepare(ctx context.Context, s *side, set receiver.Settings) error {
	raw, err := s.maker.fresh()
	if err != nil {
		return err
	}
	answer, err := st.function.Invoke(ctx, raw)
	if err != nil {
		return err
	}
	_, event, err := answered(answer)
	if err != nil {
		return err
	}
	key := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "E#" + event}, "sk": &types.AttributeValueMemberS{Value: "EVENT"}}
	out, err := s.DynamoDB().GetItem(ctx, &dynamodb.GetItemInput{TableName: &set.Table, Key: key, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return fmt.Errorf("read the event: %w", err)
	}
	st.put = dynamodb.PutItemInput{
		TableName: &set.Table, Item: out.Item, ConditionExpression: aws.String("attribute_not_exists(#pk)"), ExpressionAttributeNames: map[string]string{"#pk": "pk"},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	body, err := json.Marshal(map[string]string{"event": event})
	st.send = sqs.SendMessageInput{QueueUrl: &set.WorkQueue, MessageBody: aws.String(string(body)), MessageGroupId: aws.String("shop")}
	return err
}

// bare makes the two calls for an event that is none.
func (st *stand) bare(ctx context.Context) error {
	st.made++
	in := st.put
	in.Item = maps.Clone(in.Item)
	in.Item["pk"] = &types.AttributeValueMemberS{Value: fmt.Sprintf("E#evt_bench%021d", st.made)}
	if _, err := st.table.PutItem(ctx, &in); err != nil {
		return err
	}
	_, err := st.queue.SendMessage(ctx, &st.send)
	return err
}

// A block is some repeats of one thing, measured.
type block struct {
	whole, own sample
	usage      Usage
}

func (st *stand) block(n int, do func(i int) error) (b block, err error) {
	before := used()
	for i := range n {
		st.watch.spent = 0
		began := time.Now()
		if err := do(i); err != nil {
			return b, err
		}
		took := time.Since(began)
		b.whole, b.own = append(b.whole, micros(took)), append(b.own, micros(took-st.watch.spent))
	}
	b.usage = before.since(n)
	return b, nil
}

var errNotNew = errors.New("a new event was not accepted")

// deliver hands deliveries to the function.
func (st *stand) deliver(ctx context.Context, deliveries [][]byte) (block, error) {
	answers := make([][]byte, len(deliveries))
	b, err := st.block(len(deliveries), func(i int) error {
		answer, err := st.function.Invoke(ctx, deliveries[i])
		answers[i] = bytes.Clone(answer) // the next one is written into the same bytes
		return err
	})
	for _, raw := range answers {
		if err == nil {
			var status string
			if status, _, err = answered(raw); err == nil && status != "accepted" {
				err = errNotNew
			}
		}
	}
	return b, err
}

// receiver measures deliveries in turns with bare calls.
func (s *side) receiver(ctx context.Context, o Options) (r Receiver, err error) {
	st, err := s.stand(ctx)
	if err != nil {
		return r, err
	}
	total := 10 * o.Events
	deliveries, err := s.maker.many(total + blockSize)
	if err != nil {
		return r, err
	}
	var ours, theirs []block
	calls := 0
	for i := 0; i < len(deliveries); i += blockSize {
		o.Progress(float64(i)/float64(len(deliveries)), "the receiver beside its two calls")
		part := deliveries[i:min(i+blockSize, len(deliveries))]
		st.watch.calls = 0
		mine, err := st.deliver(ctx, part)
		calls = st.watch.calls / len(part)
		if err != nil {
			return r, err
		}
		bare, err := st.block(len(part), func(int) error { return st.bare(ctx) })
		if err != nil {
			return r, err
		}
		if i > 0 { // the first block opens connections and fills pools
			ours, theirs = append(ours, mine), append(theirs, bare)
		}
	}
	r = Receiver{BodyBytes: len(product), ItemBytes: dynamo.ItemSize(st.put.Item), Deliveries: total, Calls: calls, Handling: part(ours), Bare: part(theirs)}
	var own, cpu, ratio sample
	for i := range ours {
		own = append(own, ours[i].own.at(0.5)-theirs[i].own.at(0.5))
		cpu = append(cpu, ours[i].usage.CPUUS-theirs[i].usage.CPUUS)
		ratio = append(ratio, ours[i].whole.at(0.5)/theirs[i].whole.at(0.5))
	}
	r.OwnUS, r.OwnCPUUS, r.Ratio = own.certain(), cpu.certain(), ratio.certain()
	return r, nil
}

func part(blocks []block) (p Part) {
	var whole, own, wall, cpu, allocs, size sample
	for _, b := range blocks {
		whole, own = append(whole, b.whole...), append(own, b.own...)
		wall, cpu, allocs, size = append(wall, b.usage.WallUS), append(cpu, b.usage.CPUUS), append(allocs, b.usage.Allocs), append(size, b.usage.Bytes)
	}
	return Part{Whole: whole.times(), Own: own.times(), Usage: Usage{WallUS: wall.at(0.5), CPUUS: cpu.at(0.5), Allocs: allocs.at(0.5), Bytes: size.at(0.5)}}
}
