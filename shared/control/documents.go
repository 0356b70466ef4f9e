package control

import (
	"encoding/json"
	"time"

	"engang/shared/config"
	"engang/shared/inbox"
	"engang/shared/operation"
	"engang/shared/recipe"
)

// A List is one page of documents, the newest first.
type List[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next"` // asks for the page behind this one; empty at the end
}

// An Event is what is known of one event.
type Event struct {
	Kind          string     `json:"kind"` // "event"
	ID            string     `json:"id"`
	State         string     `json:"state"`
	Outcome       string     `json:"outcome,omitempty"` // how it was settled
	Tenant        string     `json:"tenant"`
	Environment   string     `json:"environment"`
	Endpoint      string     `json:"endpoint"`
	Provider      string     `json:"provider"`
	Type          string     `json:"type"`
	Object        string     `json:"object,omitempty"`
	ObjectVersion string     `json:"object_version"`
	Rank          string     `json:"rank"`
	ReceivedAt    time.Time  `json:"received_at"`
	Deliveries    int        `json:"deliveries"` // the first, and those that repeated it
	LastSeenAt    *time.Time `json:"last_seen_at"`
	EventID       string     `json:"event_id,omitempty"`    // as the sender knows it
	DeliveryID    string     `json:"delivery_id,omitempty"` // of the first delivery
	Digest        string     `json:"digest"`                // of the fact
	BodyBytes     int        `json:"body_bytes"`
	Recipes       []string   `json:"recipes"`
	Operations    []string   `json:"operations"`
	Generation    int        `json:"generation"`
	Sends         int        `json:"sends"`  // by the reconciler
	DueAt         *time.Time `json:"due_at"` // when the reconciler looks next, while it is open
	EndedAt       *time.Time `json:"ended_at"`
	ExpiresAt     *time.Time `json:"expires_at"`
	Reason        string     `json:"reason,omitempty"` // why it is parked
	Category      string     `json:"category,omitempty"`
	Dismissed     *Decision  `json:"dismissed,omitempty"` // from the review list
	Conflicts     []Conflict `json:"conflicts,omitempty"`
	CaughtUp      bool       `json:"caught_up,omitempty"` // fetched from its source: no delivery had brought it
	ErasedAt      *time.Time `json:"erased_at,omitempty"` // it is known, and what it said is gone
	Now           []Standing `json:"now,omitempty"`       // its operations, where it is shown by itself
}

// A Standing is where an operation of an event stands now: how the event ended says only where it stood then.
type Standing struct {
	Operation string    `json:"operation"`
	State     string    `json:"state"`
	Decision  *Decision `json:"decision,omitempty"`
}

// A Conflict is a delivery with the event's key and another fact in it.
type Conflict struct {
	Digest     string    `json:"digest"`
	At         time.Time `json:"at"`
	DeliveryID string    `json:"delivery_id,omitempty"`
	Dismissed  *Decision `json:"dismissed,omitempty"` // from the review list
}

// An Operation is what is known of one operation.
type Operation struct {
	Kind          string            `json:"kind"` // "operation"
	ID            string            `json:"id"`
	State         string            `json:"state"`
	Tenant        string            `json:"tenant"`
	Environment   string            `json:"environment"`
	Object        string            `json:"object"`
	ObjectVersion string            `json:"object_version"`
	Recipe        string            `json:"recipe"`
	InputDigest   string            `json:"input_digest"`
	FencingToken  int64             `json:"fencing_token"`
	Claims        int               `json:"claims"` // counted against the limit
	DueAt         *time.Time        `json:"due_at"`
	LeaseUntil    *time.Time        `json:"lease_until,omitempty"` // while it runs
	CostUSD       operation.Money   `json:"cost_usd"`
	CostAtLeast   bool              `json:"cost_is_lower_bound"` // what some attempt cost is not known, and not in CostUSD
	Attempts      []Attempt         `json:"attempts"`
	Events        []string          `json:"events"`
	Deliveries    int               `json:"deliveries"`
	Reason        string            `json:"reason,omitempty"`
	Category      string            `json:"category,omitempty"`
	Result        *OperationResult  `json:"result"`
	Review        *Review           `json:"review"`
	Decision      *Decision         `json:"decision,omitempty"`
	Dismissed     *Decision         `json:"dismissed,omitempty"` // from the review list
	Effects       []json.RawMessage `json:"effects"`             // none until effects exist
	ExpiresAt     *time.Time        `json:"expires_at,omitempty"`
}

// An Attempt is one try at an operation.
type Attempt struct {
	ID               string            `json:"id"`
	FencingToken     int64             `json:"fencing_token"`
	StartedAt        *time.Time        `json:"started_at"`
	EndedAt          *time.Time        `json:"ended_at"`
	Outcome          string            `json:"outcome,omitempty"` // missing while it runs
	Category         string            `json:"category,omitempty"`
	Reason           string            `json:"reason,omitempty"`
	Repeats          int               `json:"repeats,omitempty"` // as many before it ended in the same way and are not listed: given back, without cost
	Called           *bool             `json:"called"`            // a model call was begun; null where nobody knows (yet)
	ModelAsked       string            `json:"model_asked,omitempty"`
	Model            string            `json:"model,omitempty"`
	ResponseID       string            `json:"response_id,omitempty"`
	RequestID        string            `json:"request_id,omitempty"`
	RequestDigest    string            `json:"request_digest,omitempty"`
	Status           string            `json:"status,omitempty"`
	IncompleteReason string            `json:"incomplete_reason,omitempty"`
	ErrorCode        string            `json:"error_code,omitempty"`
	HTTPStatus       int               `json:"http_status,omitempty"`
	Tokens           *operation.Tokens `json:"tokens,omitempty"`
	ServiceTier      string            `json:"service_tier,omitempty"`
	CostUSD          *operation.Money  `json:"cost_usd"` // null where nobody knows (yet)
	PriceAsOf        string            `json:"price_as_of,omitempty"`
	DurationMS       int64             `json:"duration_ms,omitempty"`
	RetryAfterMS     int64             `json:"retry_after_ms,omitempty"`
	BackoffMS        int64             `json:"backoff_ms,omitempty"`     // how long nothing is tried after it
	BackoffMaxMS     int64             `json:"backoff_max_ms,omitempty"` // what the random part of that stays below
	RateLimits       string            `json:"rate_limits,omitempty"`
}

// An OperationResult is the result that an operation stands behind.
type OperationResult struct {
	Recipe        string `json:"recipe"`
	ObjectVersion string `json:"object_version"`
	Digest        string `json:"digest"`
	OutputKept    bool   `json:"output_kept"`
}

// A Result is the accepted output of an object under one recipe version.
type Result struct {
	Recipe        string     `json:"recipe"`
	Operation     string     `json:"operation"`
	Event         string     `json:"event"`
	ObjectVersion string     `json:"object_version"`
	Rank          string     `json:"rank"`
	Digest        string     `json:"digest"`
	At            time.Time  `json:"at"`
	OutputKept    bool       `json:"output_kept"`
	ExpiresAt     *time.Time `json:"expires_at"`
}

// A Review says that an operation waits for a person.
type Review struct {
	Digest   string     `json:"digest,omitempty"` // of the draft
	Reasons  []string   `json:"reasons"`
	OpenedAt *time.Time `json:"opened_at"`
	Owner    string     `json:"owner,omitempty"`
	Seen     string     `json:"seen,omitempty"` // says which failure this is, for a dismissal
}

// A Decision is what a person decided.
type Decision struct {
	By   string    `json:"by"`
	At   time.Time `json:"at"`
	Note string    `json:"note,omitempty"`
}

// An Object is everything that is known of an object: its deliveries, its work, its results.
type Object struct {
	Kind        string      `json:"kind"` // "object"
	ID          string      `json:"id"`
	Tenant      string      `json:"tenant"`
	Environment string      `json:"environment"`
	Deliveries  int         `json:"deliveries"`
	FirstAt     *time.Time  `json:"first_at"`
	LastAt      *time.Time  `json:"last_at"`
	Events      []Event     `json:"events"` // the oldest first
	Operations  []Operation `json:"operations"`
	Results     []Result    `json:"results"`
	Since       time.Time   `json:"since"`    // older events are here only where an operation or a result names them
	Complete    bool        `json:"complete"` // false: there were more events since then than one look may read
}

// An Endpoint is what is configured for an address.
type Endpoint struct {
	Kind        string               `json:"kind"` // "endpoint"
	Name        string               `json:"name"`
	Version     int                  `json:"version"`
	Tenant      string               `json:"tenant"`
	Environment string               `json:"environment"`
	Provider    string               `json:"provider"`
	PublicURL   string               `json:"public_url,omitempty"`
	Source      string               `json:"source,omitempty"`
	Type        string               `json:"type,omitempty"`    // of every event, where only the address tells
	TypeAt      string               `json:"type_at,omitempty"` // where the type is in the body
	Legacy      bool                 `json:"legacy,omitempty"`
	HMAC        *config.HMAC         `json:"hmac,omitempty"`
	Secrets     []string             `json:"secrets"` // references
	Events      map[string]EventRule `json:"events"`
	MaxBody     int                  `json:"max_body,omitempty"` // bytes

	SilentAfter int             `json:"silent_after_seconds,omitempty"` // without a delivery for so long, the sender counts as silent
	CatchUp     *config.CatchUp `json:"catch_up,omitempty"`
}

// An EventRule says what is done with events of one type.
type EventRule struct {
	Ignore     bool     `json:"ignore"`
	Recipes    []string `json:"recipes"` // with the versions that are live
	ObjectKind string   `json:"object_kind,omitempty"`
	ObjectID   string   `json:"object_id,omitempty"` // where it is in the body
	Version    string   `json:"version,omitempty"`   // likewise
}

// A Config is what is live in a tenant and environment, by version.
type Config struct {
	Kind        string          `json:"kind"` // "config"
	Tenant      string          `json:"tenant"`
	Environment string          `json:"environment"`
	Revision    int             `json:"revision"`
	AppliedAt   *time.Time      `json:"applied_at"`
	AppliedBy   string          `json:"applied_by,omitempty"`
	Common      Common          `json:"common"`
	Endpoints   []Endpoint      `json:"endpoints"`
	Recipes     []recipe.Recipe `json:"recipes"`
}

// Common is what all endpoints and recipes of a tenant and environment share.
type Common struct {
	Version int `json:"version"`
	config.Common
}

// An Application is what applying a configuration would change (kind "plan"), or has changed ("applied").
type Application struct {
	Kind        string          `json:"kind"`
	Tenant      string          `json:"tenant"`
	Environment string          `json:"environment"`
	Revision    int             `json:"revision"` // that is live; zero: none
	AppliedAt   *time.Time      `json:"applied_at"`
	AppliedBy   string          `json:"applied_by,omitempty"`
	Changes     []config.Change `json:"changes"`
	Others      []Other         `json:"others,omitempty"` // of a plan
}

// An Other is an endpoint of another environment, with the references of its secrets.
type Other struct {
	Tenant      string   `json:"tenant"`
	Environment string   `json:"environment"`
	Endpoint    string   `json:"endpoint"`
	Secrets     []string `json:"secrets"`
}

// Content is what [Control.Reveal] shows.
type Content struct {
	Kind   string          `json:"kind"` // "body" or "output"
	ID     string          `json:"id"`   // of the event or the operation
	Digest string          `json:"digest,omitempty"`
	Bytes  int             `json:"bytes"`
	Body   []byte          `json:"body_base64,omitempty"` // exact
	Output json.RawMessage `json:"output,omitempty"`
}

// Any is a document of [Control.Show]: exactly one of its fields is set. Its JSON is that document.
type Any struct {
	Event     *Event
	Operation *Operation
	Object    *Object
}

// MarshalJSON writes the one document.
func (a Any) MarshalJSON() ([]byte, error) {
	switch {
	case a.Event != nil:
		return json.Marshal(a.Event)
	case a.Operation != nil:
		return json.Marshal(a.Operation)
	}
	return json.Marshal(a.Object)
}

// UnmarshalJSON reads a document by its kind.
func (a *Any) UnmarshalJSON(raw []byte) error {
	var kind struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return err
	}
	*a = Any{}
	switch kind.Kind {
	case "event":
		a.Event = &Event{}
		return json.Unmarshal(raw, a.Event)
	case "operation":
		a.Operation = &Operation{}
		return json.Unmarshal(raw, a.Operation)
	}
	a.Object = &Object{}
	return json.Unmarshal(raw, a.Object)
}

func refs(list []inbox.RecipeRef) []string {
	names := make([]string, len(list))
	for i, r := range list {
		names[i] = r.String()
	}
	return names
}
