package dynamotest_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"engang/shared/dynamo/dynamotest"
	"engang/shared/telemetry"
)

func TestFaults(t *testing.T) {
	for _, tt := range []struct {
		name    string
		fault   *dynamotest.Fault
		lost    []bool // of three calls named "W3 claim"
		arrived int64
	}{
		{"the request is lost", &dynamotest.Fault{Target: "W3 ", N: 2}, []bool{true, true, false}, 1},
		{"the answer is lost", &dynamotest.Fault{Target: "W3 claim", N: 2, Applied: true}, []bool{true, true, false}, 3},
		{"every one is lost", &dynamotest.Fault{N: -1}, []bool{true, true, true}, 0},
		{"another call is meant", &dynamotest.Fault{Target: "W13", N: -1}, []bool{false, false, false}, 3},
		{"none is meant", &dynamotest.Fault{Target: "W3 "}, []bool{false, false, false}, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var arrived atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				arrived.Add(1)
				io.Copy(w, r.Body)
			}))
			defer server.Close()
			client := &http.Client{Transport: tt.fault}
			var lost []bool
			hits := 0
			for range tt.lost {
				r, err := http.NewRequestWithContext(telemetry.WithCall(t.Context(), "W3 claim"), http.MethodPost, server.URL, strings.NewReader("body"))
				if err != nil {
					t.Fatal(err)
				}
				answer, err := client.Do(r)
				lost = append(lost, errors.Is(err, dynamotest.ErrLost))
				if err != nil {
					hits++
					continue
				}
				if body, err := io.ReadAll(answer.Body); string(body) != "body" || err != nil || answer.Body.Close() != nil {
					t.Errorf("a call that is not hit answers %q, %v", body, err)
				}
			}
			if !slices.Equal(lost, tt.lost) || arrived.Load() != tt.arrived || tt.fault.Hits() != hits {
				t.Errorf("lost %v, arrived %d, hits %d", lost, arrived.Load(), tt.fault.Hits())
			}
		})
	}
}

func TestAtOnceRunsEveryCaller(t *testing.T) {
	var waiting atomic.Int64
	all := make(chan struct{})
	errs := dynamotest.AtOnce(func(i int) error {
		if waiting.Add(1) == dynamotest.Many {
			close(all)
		}
		<-all // no caller ends before all have begun
		if i%2 == 0 {
			return errors.New("even")
		}
		return nil
	})
	for i, err := range errs {
		if (err == nil) != (i%2 == 1) {
			t.Errorf("caller %d returned %v", i, err)
		}
	}
	if len(errs) != dynamotest.Many {
		t.Errorf("%d callers", len(errs))
	}
}
