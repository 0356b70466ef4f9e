package text_test

import (
	"testing"

	"engang/infra/engang/text"
	"engang/shared/control"
	"engang/shared/operation"
)

func TestAReplayIsToldInASentence(t *testing.T) {
	for _, c := range []struct {
		r    control.Replayed
		want string
	}{
		{control.Replayed{DryRun: true, Events: 412, Finished: 409, WouldRun: 2, Waiting: 1}, "412 events: 409 finished, nothing to do; 2 would run for the first time; 1 waits for a person."},
		{control.Replayed{Events: 412, Finished: 409, WouldRun: 2, Sent: 2, Waiting: 1}, "412 events: 409 finished, nothing to do; 2 run for the first time; 1 waits for a person."},
		{control.Replayed{Events: 1, WouldRun: 1}, "1 event: 0 finished, nothing to do; 1 runs for the first time (1 not sent, the reconciler sends them)."},
		{control.Replayed{Events: 7, Running: 2, Waiting: 2, Unreadable: 3}, "7 events: 0 finished, nothing to do; 2 are being worked on; 2 wait for a person; 3 cannot run, their bodies cannot be read any more."},
		{control.Replayed{Events: 3, Dismissed: 1, Finished: 2}, "3 events: 2 finished, nothing to do; 1 was dismissed and is not done."},
		{control.Replayed{Events: 2, Dismissed: 2}, "2 events: 0 finished, nothing to do; 2 were dismissed and are not done."},
		{control.Replayed{Events: 2, Running: 1, Unreadable: 1}, "2 events: 0 finished, nothing to do; 1 is being worked on; 1 cannot run, its body cannot be read any more."},
	} {
		if got := text.Replayed(c.r); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if got := text.ReplayCost(control.Replayed{Calls: 2, CostUSD: 900_000_000}); got != "Model calls: 2, at most $0.0009. Effects: 0." {
		t.Errorf("%q", got)
	}
}

func TestDollarsHaveTheDecimalsThatTheyNeed(t *testing.T) {
	for m, want := range map[operation.Money]string{
		0: "$0.00", 900_000_000: "$0.0009", 1_200_000_000_000: "$1.20", 1: "$0.000001", 12_345_678_000_000: "$12.345678", 10_000_000_000_000: "$10.00",
	} {
		if got := text.Dollars(m); got != want {
			t.Errorf("%d: %s, want %s", m, got, want)
		}
	}
}

func TestLettersAreCountedByHowTheyStand(t *testing.T) {
	list := []control.Letter{{Standing: control.LetterNative}, {Standing: control.LetterFailed}, {Standing: control.LetterFailed}, {Standing: control.LetterForeign}}
	if got, want := text.LetterCount(list), "4 letters: 2 still failed, 1 set aside by the queue, 1 not ours"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
