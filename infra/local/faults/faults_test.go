package faults_test

import (
	"errors"
	"testing"
	"time"

	"engang/infra/local/faults"
	"engang/infra/local/wire"

	"github.com/google/go-cmp/cmp"
)

func now() time.Time { return time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC) }

func TestParse(t *testing.T) {
	got, err := faults.Parse("model:429x3, worker:kill@after-claim,queue:redeliver,store:lost@W11x2")
	want := []faults.Fault{{"model", "429", 3}, {"worker", "kill@after-claim", 1}, {"queue", "redeliver", 1}, {"store", "lost@W11", 2}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	for _, one := range faults.Known() {
		list, err := faults.Parse(one + "x2")
		if err != nil || len(list) != 1 || list[0].Times != 2 || list[0].String() != one+"x2" {
			t.Errorf("%s: %v, %v", one, list, err)
		}
	}
	for _, bad := range []string{"model", "model:418", "worker:kill", "worker:kill@lunch", "store:lost", "queue:lost@W4", "model:429x0", "disk:full"} {
		if _, err := faults.Parse(bad); !errors.Is(err, faults.ErrUnknown) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestJudge(t *testing.T) {
	claim := wire.Call{Name: "W3 claim", Service: "dynamodb", Function: "enrichment", ID: "1", Try: 1}
	commit := wire.Call{Name: "W4 complete", Service: "dynamodb", Function: "enrichment", ID: "2", Try: 1}
	model := wire.Call{Name: "model call", Service: "model", Function: "enrichment"}
	send := wire.Call{Name: "send event", Service: "sqs", Function: "receiver", ID: "3", Try: 1}
	receive := wire.Call{Name: "receive messages", Service: "sqs"} // the event source's own
	for _, c := range []struct {
		fault string
		call  wire.Call
		phase wire.Phase
		want  wire.Verdict
	}{
		{"worker:kill@after-claim", claim, wire.After, wire.Kill},
		{"worker:kill@after-claim", claim, wire.Before, wire.Pass},
		{"worker:kill@after-claim", commit, wire.After, wire.Pass},
		{"worker:kill@before-call", model, wire.Before, wire.Kill},
		{"worker:kill@after-call", model, wire.After, wire.Kill},
		{"worker:kill@after-W4", commit, wire.After, wire.Kill},
		{"store:lost@W4", commit, wire.After, wire.Fail},
		{"store:lost@W4", commit, wire.Before, wire.Pass},
		{"store:lost@W", commit, wire.After, wire.Pass}, // a whole word
		{"store:down", commit, wire.Before, wire.Fail},
		{"store:down", send, wire.Before, wire.Pass},
		{"queue:down", send, wire.Before, wire.Fail},
		{"queue:down", receive, wire.Before, wire.Pass},
	} {
		k := faults.New(nil, now)
		if err := k.Add(c.fault); err != nil {
			t.Fatal(err)
		}
		if got := k.Judge(c.call, c.phase); got != c.want {
			t.Errorf("%s, %s %s: %v, want %v", c.fault, c.phase, c.call.Name, got, c.want)
		}
		if fired := len(k.Fired()) == 1; fired != (c.want != wire.Pass) {
			t.Errorf("%s: fired %v", c.fault, k.Fired())
		}
	}
}

func TestAFaultStrikesAsOftenAsAsked(t *testing.T) {
	k := faults.New(nil, now)
	if err := k.Add("store:lost@W4x2,queue:redeliver"); err != nil {
		t.Fatal(err)
	}
	call := wire.Call{Name: "W4 complete", Service: "dynamodb", Function: "enrichment"}
	for i, want := range []wire.Verdict{wire.Fail, wire.Fail, wire.Pass} {
		if got := k.Judge(call, wire.After); got != want {
			t.Errorf("time %d: %v", i+1, got)
		}
	}
	if !k.Redeliver() || k.Redeliver() || len(k.Pending()) != 0 {
		t.Errorf("redelivered more or less than once; pending %v", k.Pending())
	}
}

// Down for one call means down for its repeats too: else the SDK's second try would hide the fault.
func TestDownFailsEveryTryOfACall(t *testing.T) {
	k := faults.New(nil, now)
	if err := k.Add("store:down"); err != nil {
		t.Fatal(err)
	}
	call := wire.Call{Name: "W1 put event", Service: "dynamodb", Function: "receiver", ID: "a"}
	other := wire.Call{Name: "W1 put event", Service: "dynamodb", Function: "receiver", ID: "b"}
	for _, c := range []struct {
		call wire.Call
		want wire.Verdict
	}{{call, wire.Fail}, {call, wire.Fail}, {other, wire.Pass}, {call, wire.Fail}} {
		if got := k.Judge(c.call, wire.Before); got != c.want {
			t.Errorf("call %s: %v, want %v", c.call.ID, got, c.want)
		}
	}
}

func TestModelFaultsGoToTheStub(t *testing.T) {
	got := map[string]int{}
	k := faults.New(func(kind string, times int) error { got[kind] += times; return nil }, now)
	if err := k.Add("model:429x3,model:quota"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"429": 3, "quota": 1}, got); diff != "" {
		t.Error(diff)
	}
	real := faults.New(nil, now)
	if err := real.Add("store:down,model:429"); !errors.Is(err, faults.ErrUnknown) || len(real.Pending()) != 0 {
		t.Errorf("a real model: %v, pending %v", err, real.Pending())
	}
}
