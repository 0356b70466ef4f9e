package operation

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// An AttemptID names one try at an operation: "att_" and random characters, unique per claim.
type AttemptID string

// An Outcome says what is known of an attempt. The texts are stored.
type Outcome string

// The outcomes of an attempt.
const (
	Usable    Outcome = "usable"    // the output passed every check
	Flagged   Outcome = "flagged"   // the output fits the schema and a check of ours did not pass: a draft
	Unusable  Outcome = "unusable"  // answered, and nothing can be made of it
	Truncated Outcome = "truncated" // answered, cut off by the length limit
	Transient Outcome = "transient" // no answer, or "not now": worth another try
	Paused    Outcome = "paused"    // the provider cannot serve this model now; the attempt was given back
	Stopped   Outcome = "stopped"   // no call was made: a limit of ours forbade it
	Lost      Outcome = "lost"      // the lease ended without a word: the worker died or was fenced
)

// A Category sorts what went wrong (infra/design.md section 7). The texts are stored and shown.
type Category string

// The categories of failure.
const (
	CategoryTransient      Category = "transient"
	CategoryProviderPaused Category = "provider paused"
	CategoryInvalidInput   Category = "invalid input"
	CategoryUnusableOutput Category = "unusable output"
	CategoryConfiguration  Category = "configuration"
	CategoryBug            Category = "bug"
	CategorySpendLimit     Category = "spend limit" // one event's limit: more money than the recipe allows
	CategoryCancelled      Category = "cancelled"   // a person stopped it; redriven only when named
)

// Tokens counts what a call used, as the provider reports it.
type Tokens struct {
	Input      int64 `json:"input"`
	Cached     int64 `json:"cached"`
	CacheWrite int64 `json:"cache_write"`
	Output     int64 `json:"output"`
	Reasoning  int64 `json:"reasoning"`
}

// MaxTokens is more of each kind than any call can use: no model takes so many, and none of our calls sends a tenth of it.
const MaxTokens = 10_000_000

// Possible tells whether a call can have used these tokens. What a provider reports is not ours: a count below nothing
// or beyond [MaxTokens] says nothing about what the call cost.
func (t Tokens) Possible() bool {
	least, most := min(t.Input, t.Cached, t.CacheWrite, t.Output, t.Reasoning), max(t.Input, t.Cached, t.CacheWrite, t.Output, t.Reasoning)
	return least >= 0 && most <= MaxTokens
}

// An Attempt is one numbered try at an operation. It is kept with the operation for good, also when
// it was the losing one. It holds no payload, no output and no key.
type Attempt struct {
	ID           AttemptID `json:"id"`
	FencingToken int64     `json:"fencing_token"`
	StartedAt    time.Time `json:"started_at,omitzero"`
	EndedAt      time.Time `json:"ended_at,omitzero"` // zero for a lost one: nobody saw it end
	Outcome      Outcome   `json:"outcome"`
	Category     Category  `json:"category,omitempty"`
	Reason       string    `json:"reason,omitempty"`  // ours, one sentence without content
	Repeats      int       `json:"repeats,omitempty"` // as many before it ended in the same way and are not listed: given back, without cost
	Called       bool      `json:"called"`            // a model call was begun; false too where a lost one is not known to have called

	RequestDigest    string        `json:"request_digest,omitempty"`
	ModelAsked       string        `json:"model_asked,omitempty"`
	Model            string        `json:"model,omitempty"` // that answered
	ResponseID       string        `json:"response_id,omitempty"`
	RequestID        string        `json:"request_id,omitempty"` // x-request-id
	Status           string        `json:"status,omitempty"`
	IncompleteReason string        `json:"incomplete_reason,omitempty"`
	ErrorCode        string        `json:"error_code,omitempty"`
	HTTPStatus       int           `json:"http_status,omitempty"`
	ServiceTier      string        `json:"service_tier,omitempty"` // answered
	Tokens           *Tokens       `json:"tokens,omitempty"`
	CostUSD          Money         `json:"cost_usd,omitzero"`
	PriceAsOf        string        `json:"price_as_of,omitempty"`
	Duration         time.Duration `json:"duration_ns,omitempty"`
	RetryAfter       time.Duration `json:"retry_after_ns,omitempty"`
	RateLimits       string        `json:"rate_limits,omitempty"`    // headers of a refusal
	Backoff          time.Duration `json:"backoff_ns,omitempty"`     // how long nothing is tried after it
	BackoffMax       time.Duration `json:"backoff_max_ns,omitempty"` // what the random part of that stays below; it doubles with each claim
}

// An Answer is what came of one model call: the facts for the attempt, and the output where there is one.
type Answer struct {
	Attempt        // Outcome, Category, Reason and the call's facts; ID, token, times and cost are the caller's
	Output  []byte // JSON text as the model wrote it; only with outcome Usable (not yet checked by us)
}

// Money is an amount of US dollars in picodollars (10⁻¹² $), exact for prices per million tokens with
// up to six decimals. Its text form is dollars with six decimals, rounded up: "0.000318".
type Money int64

const picoPerMicro = 1_000_000

// String is the amount in dollars with six decimals, rounded up: away from zero, so that a cost is never
// shown as less than it is.
func (m Money) String() string {
	sign, pico := "", uint64(m)
	if m < 0 {
		sign, pico = "-", -pico
	}
	micro := (pico + picoPerMicro - 1) / picoPerMicro
	return fmt.Sprintf("%s%d.%06d", sign, micro/1_000_000, micro%1_000_000)
}

// MarshalText writes the amount as a string.
func (m Money) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// amountShape is compiled when an amount is first read: the receiver reads none.
var amountShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-?[0-9]{1,7}\.[0-9]{6}$`) })

// UnmarshalText reads what [Money.MarshalText] wrote, and nothing else.
func (m *Money) UnmarshalText(text []byte) error {
	if !amountShape().Match(text) {
		return errors.New("read amount: not dollars with six decimals")
	}
	micro, err := strconv.ParseInt(strings.Replace(string(text), ".", "", 1), 10, 64)
	if err != nil || micro > math.MaxInt64/picoPerMicro || micro < math.MinInt64/picoPerMicro {
		return errors.New("read amount: out of range")
	}
	*m = Money(micro * picoPerMicro)
	return nil
}

// A Price is what a model costs, in picodollars a token. USD per million tokens and microdollars a
// token are the same number, so a price of 0.40 is 400,000.
type Price struct {
	Input      Money  `json:"input"`
	Cached     Money  `json:"cached"`
	CacheWrite Money  `json:"cache_write"`
	Output     Money  `json:"output"`
	AsOf       string `json:"as_of"`

	Tiers map[string]Price `json:"tiers,omitempty"` // of service tiers that cost something else, by the name that an answer gives
}

// Cost is what the tokens cost. Cached and cache-write tokens are part of the input tokens and priced on
// their own; reasoning tokens are part of the output tokens. Counts that are not possible are taken for the next one
// that is, so that no cost is below nothing or beyond what an amount holds.
func (p Price) Cost(t Tokens) Money {
	count := func(n int64) Money { return Money(min(max(n, 0), MaxTokens)) }
	input, cached, written := count(t.Input), count(t.Cached), count(t.CacheWrite)
	return p.Input*max(input-cached-written, 0) + p.Cached*cached + p.CacheWrite*written + p.Output*count(t.Output)
}
