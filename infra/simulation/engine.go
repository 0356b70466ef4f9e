package simulation

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/sivchari/kumo"
)

// tables counts the tables of this process, whose engine is one.
var tables atomic.Int64

// An engine answers a request at once.
type engine interface {
	RoundTrip(r *http.Request) (*http.Response, error)
}

// started is the embedded engine, started once. It is asked past its socket where its library still is as it was when
// this was written: a call through the socket costs half as much again, and comes to the same.
var started = sync.OnceValue(func() engine {
	server := kumo.NewServer()
	if h := handlerOf(server); h != nil {
		return inProcess{h}
	}
	at, err := url.Parse(server.URL)
	if err != nil {
		panic(err) // the library made it
	}
	return throughSocket{at}
})

// handlerOf reaches into the server for what answers its requests; nil where it is made otherwise.
func handlerOf(server *kumo.Server) http.Handler {
	f := reflect.ValueOf(server).Elem().FieldByName("httpServer")
	if !f.IsValid() || f.Type() != reflect.TypeFor[*httptest.Server]() {
		return nil
	}
	inner := *(**httptest.Server)(unsafe.Pointer(f.UnsafeAddr()))
	if inner == nil || inner.Config == nil {
		return nil
	}
	return inner.Config.Handler
}

// inProcess calls the handler.
type inProcess struct{ handler http.Handler }

// RoundTrip answers a request.
func (e inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	own := *r
	own.RequestURI, own.RemoteAddr = "/", "127.0.0.1:1"
	answer := httptest.NewRecorder()
	e.handler.ServeHTTP(answer, &own)
	return answer.Result(), nil
}

// throughSocket asks over the network of this machine.
type throughSocket struct{ at *url.URL }

// RoundTrip answers a request.
func (e throughSocket) RoundTrip(r *http.Request) (*http.Response, error) {
	own := r.Clone(context.WithoutCancel(r.Context()))
	own.URL.Scheme, own.URL.Host, own.Host = e.at.Scheme, e.at.Host, e.at.Host
	return http.DefaultTransport.RoundTrip(own)
}

// schema is the table as template.yaml declares it.
func schema(name string) *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{TableName: &name, BillingMode: types.BillingModePayPerRequest, KeySchema: keys("pk", "sk")}
	for _, attribute := range []string{"pk", "sk", "oq", "od", "lq", "ld"} {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: &attribute, AttributeType: types.ScalarAttributeTypeS})
	}
	for _, index := range [][3]string{{"open", "oq", "od"}, {"list", "lq", "ld"}} {
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: &index[0], KeySchema: keys(index[1], index[2]), Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		})
	}
	return in
}

// create makes the world's table.
func (w *world) create(name string) error {
	w.tableName = name
	if _, err := w.db.CreateTable(w.ctx, schema(name)); err != nil {
		return fmt.Errorf("create table: %w", err)
	}
	return nil
}

func keys(hash, sort string) []types.KeySchemaElement {
	return []types.KeySchemaElement{{AttributeName: aws.String(hash), KeyType: types.KeyTypeHash}, {AttributeName: aws.String(sort), KeyType: types.KeyTypeRange}}
}

// close ends whoever is still at it, and removes the table.
func (w *world) close() error {
	for _, a := range w.actors {
		a.stop()
	}
	_, err := w.db.DeleteTable(context.WithoutCancel(w.ctx), &dynamodb.DeleteTableInput{TableName: &w.tableName})
	if err != nil {
		return fmt.Errorf("remove table: %w", err)
	}
	return nil
}

// answerWith is a response of our own.
func answerWith(r *http.Request, status int, body []byte) *http.Response {
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r, ContentLength: int64(len(body)),
		Header: http.Header{"Content-Type": {"application/json"}}, Body: readCloser{bytes.NewReader(body)},
	}
}

type readCloser struct{ *bytes.Reader }

// Close does nothing.
func (readCloser) Close() error { return nil }
