package crash_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"sync"
	"testing"

	"engang/shared/dynamo/dynamotest"
)

// each is how many combinations of the embedded engine one on the reference engine stands for.
const each = 8

// A part of the matrix has its table on the reference engine.
func TestMatrixOnTheReferenceEngine(t *testing.T) {
	address := os.Getenv(dynamotest.ReferenceEnv)
	switch {
	case address == "" && os.Getenv("CI") == "true":
		t.Fatalf("%s is not set: in CI a part must run on the reference engine", dynamotest.ReferenceEnv)
	case address == "":
		t.Skipf("%s is not set", dynamotest.ReferenceEnv)
	}
	flows := recorded(t)
	sums := newSums()
	for _, f := range flows {
		sums.points(f)
	}
	var part []combination
	for i, c := range chosen(flows) {
		if i%each == 0 || *only != "" {
			part = append(part, c)
		}
	}
	sideBySide(part, func(c combination) {
		c.flow.options.DynamoDBURL = address
		c.run(t, sums, func(w *watch) { w.table = network() })
	})
	sums.tell(t)
}

// A relay makes calls over the network for those who live in virtual time, which sockets would stop.
type relay struct{ idle chan *lane }

type lane struct {
	request chan *http.Request
	answer  chan answered
}

type answered struct {
	response *http.Response
	err      error
}

// network is started by whoever is the first, outside of virtual time.
var network = sync.OnceValue(func() *relay {
	r := &relay{idle: make(chan *lane, 16)}
	client := &http.Transport{MaxIdleConnsPerHost: cap(r.idle)}
	for range cap(r.idle) {
		l := &lane{make(chan *http.Request), make(chan answered)}
		go func() {
			for request := range l.request {
				l.answer <- call(client, request)
			}
		}()
		r.idle <- l
	}
	return r
})

// call makes a call, and reads the whole of its answer.
func call(client *http.Transport, r *http.Request) answered {
	response, err := client.RoundTrip(r)
	if err != nil {
		return answered{nil, err}
	}
	raw, err := io.ReadAll(response.Body)
	response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(raw))
	return answered{response, err}
}

// RoundTrip makes a call. Nothing of virtual time goes with it.
func (n *relay) RoundTrip(r *http.Request) (*http.Response, error) {
	l := <-n.idle
	defer func() { n.idle <- l }()
	l.request <- r.Clone(context.Background())
	a := <-l.answer
	return a.response, a.err
}
