package dynamotest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/sivchari/kumo"

	"engang/shared/dynamo"
)

// ReferenceEnv names the environment variable with the address of the reference engine. Where CI is
// "true" it must be set: contracts that were not held against it do not count.
const ReferenceEnv = "ENGANG_REFERENCE_DYNAMODB"

// A DB is a table of its own on one engine.
type DB struct {
	Engine    string // "embedded" or "reference"
	Endpoint  string
	TableName string
}

// Reference tells whether the engine answers as DynamoDB does in what the embedded one leaves out:
// items with refusals, consumed capacity, size limits, TTL.
func (db DB) Reference() bool { return db.Engine == "reference" }

// Config is a client configuration for the engine. The transport, often a [*Fault], may be nil.
func (db DB) Config(transport http.RoundTripper) aws.Config {
	cfg := aws.Config{
		Region: "eu-north-1", BaseEndpoint: aws.String(db.Endpoint), Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		Retryer: func() aws.Retryer { // as many tries as the client makes itself, without its waiting
			return retry.NewStandard(func(o *retry.StandardOptions) {
				o.MaxAttempts, o.MaxBackoff, o.RateLimiter = Tries, time.Millisecond, ratelimit.None
			})
		},
	}
	if transport == nil {
		transport = shared
	}
	cfg.HTTPClient = &http.Client{Transport: transport}
	return cfg
}

// Tries is how often a client made by [DB.Config] sends one request before it gives up.
const Tries = 4

// shared keeps enough connections for callers that come at once.
var shared http.RoundTripper = &http.Transport{MaxIdleConnsPerHost: 64}

// Open opens the table. The transport, often a [*Fault], may be nil.
func (db DB) Open(transport http.RoundTripper) *dynamo.Table {
	return dynamo.Open(db.Config(transport), db.TableName)
}

// Client is a bare client, to look at what is stored or to prepare it.
func (db DB) Client() *dynamodb.Client {
	return dynamodb.NewFromConfig(db.Config(nil), func(o *dynamodb.Options) { o.DisableValidateResponseChecksum = true })
}

type place struct{ engine, endpoint string }

var errNoReference = errors.New(ReferenceEnv + " is not set: in CI the contracts must run on the reference engine")

// places says where tests run. The embedded engine's endpoint is empty: it is started on first use.
func places(env func(string) string) ([]place, error) {
	all := []place{{engine: "embedded"}}
	switch reference := env(ReferenceEnv); {
	case reference != "":
		all = append(all, place{"reference", reference})
	case env("CI") == "true":
		return nil, errNoReference
	}
	return all, nil
}

// Engine runs a test on the embedded engine and, where [ReferenceEnv] is set, on the reference engine,
// each time with a new empty table. It fails the test in CI if there is no reference engine.
func Engine(t *testing.T, test func(t *testing.T, db DB)) {
	t.Helper()
	all, err := places(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		t.Run(p.engine, func(t *testing.T) { test(t, p.table(t)) })
	}
}

// Fresh makes another new empty table on the same engine.
func (db DB) Fresh(t testing.TB) DB {
	t.Helper()
	return place{db.Engine, db.Endpoint}.table(t)
}

// Embedded makes a new empty table on the embedded engine, for tests of what stands above the table.
func Embedded(t testing.TB) DB {
	t.Helper()
	return place{engine: "embedded"}.table(t)
}

var (
	start   = sync.OnceValue(func() string { return kumo.NewServer().URL }) // lives as long as the process: its state is global anyway
	ordinal atomic.Int64
)

// table makes a table with a name that no other test and no other process has, and removes it at the end.
func (p place) table(t testing.TB) DB {
	t.Helper()
	db := DB{Engine: p.engine, Endpoint: p.endpoint, TableName: fmt.Sprintf("engang-%d-%d-%d", os.Getpid(), time.Now().UnixMilli(), ordinal.Add(1))}
	if db.Endpoint == "" {
		db.Endpoint = start()
	}
	client := db.Client()
	if _, err := client.CreateTable(t.Context(), Schema(db.TableName)); err != nil {
		t.Fatalf("create table on the %s engine: %v", db.Engine, err)
	}
	t.Cleanup(func() {
		if _, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &db.TableName}); err != nil {
			t.Errorf("remove table from the %s engine: %v", db.Engine, err)
		}
	})
	return db
}
