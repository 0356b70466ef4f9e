package recipe

// The bounds of what a recipe may say.
const (
	MaxVersion        = 999_999 // six digits in keys
	MaxBytes          = 256 << 10
	MaxTimeoutSeconds = 75 // the room that the enrichment function has for a call
	MinOutputTokens   = 16 // the least that the Responses API takes
	MaxOutputTokens   = 1_000_000
	MaxFields         = 200 // of an input
	MaxQuietSeconds   = 24 * 60 * 60
	MaxAttempts       = 15     // the queue delivers a message twenty times: five are left for busy leases
	MaxPerMinute      = 10_000 // each call of a minute is an attribute of one item: 400 KB hold twelve thousand
)

// The bounds of what goes into a call and comes out of it.
const (
	MaxInputBytes  = 256 << 10 // canonical JSON
	MaxOutputBytes = 128 << 10
)

const maxName = 64

// IsName tells whether text can name a tenant, an endpoint or a recipe: 1 to 64 letters, digits, dots,
// dashes and underscores, the first one a letter or digit. It holds no @, no space and no slash.
func IsName(text string) bool {
	for i, r := range text {
		switch {
		case 'A' <= r && r <= 'Z', 'a' <= r && r <= 'z', '0' <= r && r <= '9':
		case i > 0 && (r == '.' || r == '_' || r == '-'):
		default:
			return false
		}
	}
	return text != "" && len(text) <= maxName
}
