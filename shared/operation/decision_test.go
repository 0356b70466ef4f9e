package operation_test

import (
	"testing"

	"engang/shared/operation"
)

// TestJudgeDecision is infra/protocol.md section 4, the rows of W17 and W18.
func TestJudgeDecision(t *testing.T) {
	seen := operation.Operation{State: operation.Review, Digest: "d1", Rank: "r1"}
	tests := []struct {
		name   string
		stored operation.Operation
		next   operation.State
		want   operation.Verdict
	}{
		{"approved by this very write", operation.Operation{State: operation.Completed, WriteID: "w-mine", Digest: "d1"}, operation.Completed, operation.OwnDecision},
		{"rejected by this very write", operation.Operation{State: operation.Rejected, WriteID: "w-mine", Digest: "d1"}, operation.Rejected, operation.OwnDecision},
		{"this very write, and something else than it leaves", operation.Operation{State: operation.Pending, WriteID: "w-mine"}, operation.Completed, operation.DecidedByOther},
		{"approved by another", operation.Operation{State: operation.Completed, WriteID: "w-his", Digest: "d1"}, operation.Completed, operation.DecidedByOther},
		{"rejected by another", operation.Operation{State: operation.Rejected, WriteID: "w-his", Digest: "d1"}, operation.Completed, operation.DecidedByOther},
		{"redriven since", operation.Operation{State: operation.Pending, WriteID: "w-his"}, operation.Completed, operation.DecidedByOther},
		{"gone", operation.Operation{}, operation.Completed, operation.DecidedByOther},
		{"an echo raised its rank", operation.Operation{State: operation.Review, Digest: "d1", Rank: "r3"}, operation.Completed, operation.RankRaised},
		{"another draft", operation.Operation{State: operation.Review, Digest: "d2", Rank: "r1"}, operation.Completed, operation.OtherDraft},
		{"another draft of a newer event", operation.Operation{State: operation.Review, Digest: "d2", Rank: "r3"}, operation.Completed, operation.OtherDraft},
		{"as it was looked at", operation.Operation{State: operation.Review, Digest: "d1", Rank: "r1"}, operation.Completed, operation.StillThere},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := operation.JudgeDecision(tt.stored, seen, "w-mine", tt.next); got != tt.want {
				t.Errorf("verdict %d, want %d", got, tt.want)
			}
		})
	}
}
