package model

import (
	"strings"

	"github.com/openai/openai-go/v3/responses"

	"engang/shared/operation"
)

// read takes a response apart that arrived whole.
func read(a operation.Answer, r *responses.Response) operation.Answer {
	a.ResponseID, a.Model = word(r.ID), word(r.Model)
	a.Status, a.ServiceTier = word(string(r.Status)), word(string(r.ServiceTier))
	a.IncompleteReason = word(r.IncompleteDetails.Reason)
	a.ErrorCode = word(string(r.Error.Code))
	a.Tokens = tokens(r)
	switch r.Status {
	case responses.ResponseStatusCompleted:
		return completed(a, r)
	case responses.ResponseStatusIncomplete:
		return incomplete(r).on(a)
	case responses.ResponseStatusFailed:
		return failed(r).on(a)
	case responses.ResponseStatusInProgress, responses.ResponseStatusQueued:
		// Without store there is nothing to ask for later: the provider answers 404.
		return transient("the provider answered before the response was done, and keeps nothing to look at later").on(a)
	case responses.ResponseStatusCancelled:
		return transient("the provider cancelled the response").on(a)
	}
	if r.JSON.Error.Valid() {
		return failed(r).on(a)
	}
	return transient("the answer is no response object").on(a)
}

func incomplete(r *responses.Response) *fate {
	switch r.IncompleteDetails.Reason {
	case "max_output_tokens":
		if _, found := said(r.Output); !found {
			return truncated("reasoning used up the output tokens before any text")
		}
		return truncated("the output was cut off at the limit of output tokens")
	case "content_filter":
		return unusable("the provider's content filter stopped the output")
	case "":
		return unusable("the response is incomplete without a reason")
	}
	return unusable("the response is incomplete for a reason not known here")
}

func failed(r *responses.Response) *fate {
	if f := byCode(string(r.Error.Code), r.Error.Type, r.Error.Param); f != nil {
		return f
	}
	return transient("the provider reports that the response failed")
}

func completed(a operation.Answer, r *responses.Response) operation.Answer {
	texts, found := said(r.Output)
	switch {
	case texts.refused:
		return unusable("refusal").on(a)
	case len(texts.distinct) > 1:
		return unusable("the response holds two different answers").on(a)
	case len(texts.distinct) == 1:
		a.Outcome, a.Output = operation.Usable, []byte(texts.distinct[0])
		return a
	case !found && a.Tokens != nil && r.MaxOutputTokens > 0 && a.Tokens.Output >= r.MaxOutputTokens:
		return truncated("reasoning used up the output tokens before any text").on(a)
	}
	return unusable("the response holds no text").on(a)
}

// spoken is what the messages of a response say.
type spoken struct {
	refused  bool
	distinct []string // texts that differ, of messages that count
}

// said gathers the messages of a response; found is false where no message has any content.
//
// The same message may stand in the list twice, and a model may comment before it answers: a message id
// counts once, where one message is marked as the final answer the others do not count, and a comment
// never does. Texts are joined within one message only.
func said(output []responses.ResponseOutputItemUnion) (s spoken, found bool) {
	final := false
	for _, m := range output {
		final = final || m.Phase == responses.ResponseOutputMessagePhaseFinalAnswer
	}
	for _, m := range output {
		comment := m.Phase == responses.ResponseOutputMessagePhaseCommentary
		if m.Type != "message" || comment || (final && m.Phase != responses.ResponseOutputMessagePhaseFinalAnswer) {
			continue
		}
		var text strings.Builder
		for _, part := range m.Content {
			switch part.Type {
			case "refusal":
				s.refused, found = true, true
			case "output_text":
				text.WriteString(part.Text)
			}
		}
		if t := strings.TrimSpace(text.String()); t != "" {
			found = true
			s.add(t)
		}
	}
	return s, found
}

// add takes a text unless it was said already: by the same message listed twice, or word for word by
// another one, which makes it the same answer.
func (s *spoken) add(text string) {
	for _, known := range s.distinct {
		if known == text {
			return
		}
	}
	s.distinct = append(s.distinct, text)
}

// tokens reads the usage; nil means unknown, which is not zero. Counts that cannot be make it unknown.
func tokens(r *responses.Response) *operation.Tokens {
	u := r.Usage
	if !r.JSON.Usage.Valid() || !u.JSON.InputTokens.Valid() || !u.JSON.OutputTokens.Valid() {
		return nil
	}
	t := operation.Tokens{
		Input:      u.InputTokens,
		Cached:     u.InputTokensDetails.CachedTokens,
		CacheWrite: u.InputTokensDetails.CacheWriteTokens,
		Output:     u.OutputTokens,
		Reasoning:  u.OutputTokensDetails.ReasoningTokens,
	}
	if !t.Possible() {
		return nil
	}
	return &t
}
