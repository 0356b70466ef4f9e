package inbox

import "fmt"

// A RefusedError is an [ErrStale] that says how the event stands: it was settled, parked or reopened, and the
// act needs it otherwise.
type RefusedError struct{ Stored Event }

// Error names the event and its state.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("event %s is %s: %v", e.Stored.ID, e.Stored.State, ErrStale)
}

// Is makes errors.Is(err, ErrStale) true.
func (e *RefusedError) Is(target error) bool { return target == ErrStale }
