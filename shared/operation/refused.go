package operation

import (
	"errors"
	"fmt"
)

// ErrRefused is what every [RefusedError] is: use errors.AsType[*RefusedError] for how the operation stands.
var ErrRefused = errors.New("refused by the operation's state")

// Is makes errors.Is(err, ErrRefused) true.
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }

// Why a decision took no effect. Each of these comes with a [*RefusedError] that says what stands there.
var (
	// ErrDecided says that a draft was decided otherwise, set aside or cancelled: one decision is all there is.
	ErrDecided = errors.New("the draft was decided already")

	// ErrOtherDraft says that the digest is not that of the draft: what was looked at is not what stands there.
	ErrOtherDraft = errors.New("another draft stands there")

	// ErrNewerDraft says that a newer draft of the object waits for its own decision. What stands is that one.
	ErrNewerDraft = errors.New("a newer draft of the object waits")

	// ErrOtherFailure says that it failed again, or that another event waits for it, since it was looked at.
	ErrOtherFailure = errors.New("another failure stands there")

	// ErrInWork says that the event which waits for a failed operation is not parked yet: it is still worked on.
	ErrInWork = errors.New("its event is still in work")

	// ErrFormerRecipe says that the event which would be opened for it runs under a later version of its recipe by now.
	ErrFormerRecipe = errors.New("its event runs under a raised recipe")

	// ErrNotWaiting says that what is to be decided or dismissed does not wait for this.
	ErrNotWaiting = errors.New("it does not wait for this")
)

// An OvertakenError is an [ErrNewerResult] that says which result it is.
type OvertakenError struct{ Newer Result }

// Error names the version of the newer result.
func (e *OvertakenError) Error() string {
	return fmt.Sprintf("%v: version %s", ErrNewerResult, e.Newer.Rank.Version())
}

// Is makes errors.Is(err, ErrNewerResult) true.
func (e *OvertakenError) Is(target error) bool { return target == ErrNewerResult }
