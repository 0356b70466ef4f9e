package bench_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"engang/infra/bench"
	"engang/shared/control"
	"engang/shared/dynamo/dynamotest/invariants"
)

// What is loaded must be what the product would have stored, or the bench measures a table that nobody has.
func TestLoadedEventsAreAsThePipelineLeavesThem(t *testing.T) {
	s, err := bench.Filled(t.Context(), 60)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	items := invariants.Read(t, s.DynamoDB(), s.TableName())
	invariants.Verify(t, items)
	if n := len(items.Events()); n != 60 {
		t.Errorf("%d events, want 60", n)
	}
	if open, err := s.Open(t.Context()); err != nil || len(open) != 0 {
		t.Errorf("%d events are open, %v", len(open), err)
	}
	var measured, copied control.Object
	for id, into := range map[string]*control.Object{"product:1000001": &measured, "product:100000009": &copied} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+"/api/show?id="+id, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range []control.Object{measured, copied} {
		if len(o.Events) != 5 || len(o.Operations) != 3 || len(o.Results) != 1 {
			t.Errorf("%s: %d events, %d operations, %d results; want 5, 3, 1", o.ID, len(o.Events), len(o.Operations), len(o.Results))
		}
	}
	for _, op := range copied.Operations {
		if !strings.HasPrefix(op.ID, "product:100000009/") || op.State != "completed" {
			t.Errorf("copied operation %s is %s", op.ID, op.State)
		}
	}
}

func TestGrowthIsTakenPairByPair(t *testing.T) {
	for _, c := range []struct {
		name   string
		a, b   []float64
		median float64
	}{
		{"twice as much", []float64{1, 2, 4}, []float64{2, 4, 8}, 100},
		{"a machine that gets slower meets both", []float64{10, 20, 40}, []float64{10, 20, 40}, 0},
		{"one round that was disturbed changes little", []float64{10, 10, 10}, []float64{9, 9, 90}, -10},
	} {
		t.Run(c.name, func(t *testing.T) {
			if g := bench.Growth(c.a, c.b); g.Median < c.median-1e-9 || g.Median > c.median+1e-9 || g.Noise < 0 {
				t.Errorf("%+v", g)
			}
		})
	}
}
