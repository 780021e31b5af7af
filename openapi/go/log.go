package identity

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// VerifiedLog is what a valid log proves. It proves nothing about newer entries that somebody may have kept back: remember VersionID.
type VerifiedLog struct {
	DID         string
	Versions    int
	VersionID   string
	Updated     time.Time
	Deactivated bool
	Document    map[string]any
}

// LogInvalid says which line of a log is wrong, counted from 1.
type LogInvalid struct {
	Line   int
	Reason string
}

func (e *LogInvalid) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// LogCheck is what a log is held to. What is zero is not asked.
type LogCheck struct {
	// DID is whose log it must be.
	DID string
	// Now refuses entries that are later.
	Now time.Time
	// Witnesses is the text of the did-witness.json of a log of did:webvh.
	Witnesses string
}

// state is what the entries so far say.
type state struct {
	*entry
	did                       string
	updateKeys, nextKeyHashes []string
	deactivated               bool
	webvh                     *webvhState
}

const (
	mostEntryOctets = 16 << 10
	mostKeys        = 10
)

var (
	methodText = regexp.MustCompile(`^(did:[a-z0-9]+):1\.0$`)
	exactTime  = regexp.MustCompile(`\.[0-9]{6}Z$`)
)

// VerifyLog checks the text of GetDidLog, or a log of did:webvh 1.0: identity, order, integrity, and that each entry is by a key that may
// sign it. It returns a *LogInvalid.
//
// What `identity did log verify` checks beyond it: that each change of a log of ours makes this document of the one before, and the
// controllers' signatures.
func VerifyLog(log string, check LogCheck) (*VerifiedLog, error) {
	var states []*state
	var current *state
	lines := strings.Split(strings.TrimSuffix(log, "\n"), "\n")
	following := next
	if isWebvh(lines[0]) {
		following = nextWebvh
	}
	for place, line := range lines {
		after, err := following(current, line)
		if err == nil && !check.Now.IsZero() && after.time.After(check.Now) {
			err = errors.New("the entry is of the future")
		}
		if err != nil {
			return nil, &LogInvalid{place + 1, err.Error()}
		}
		current = after
		states = append(states, after)
	}
	if check.DID != "" && current.did != check.DID {
		return nil, &LogInvalid{len(lines), "the log is one of " + current.did}
	}
	if place, err := unapproved(states, check.Witnesses); err != nil {
		return nil, &LogInvalid{place + 1, err.Error()}
	}
	return &VerifiedLog{
		current.did, current.number, current.versionID, current.time, current.deactivated, current.document,
	}, nil
}

// isWebvh is what the first entry says of its method.
func isWebvh(line string) bool {
	read, err := parseJSON([]byte(line))
	if err != nil {
		return false
	}
	first, _ := read.(object)
	parameters, _ := first["parameters"].(object)
	method, _ := parameters["method"].(string)
	return strings.HasPrefix(method, "did:webvh:")
}

// next is the state after an entry of a log of ours.
func next(before *state, line string) (*state, error) {
	if len(line) > mostEntryOctets {
		return nil, errors.New("the entry is too large")
	}
	read, err := parseJSON([]byte(line))
	if err != nil {
		return nil, err
	}
	// Whatever could be read in two ways, two members of one name or a number that does not fit, is written differently.
	if canonical, err := Canonicalize(read); err != nil || string(canonical) != line {
		return nil, errors.New("the entry is not in canonical form")
	}
	said, err := readEntry(read)
	if err != nil {
		return nil, err
	}
	versionTime, _ := said.body["versionTime"].(string)
	if !exactTime.MatchString(versionTime) {
		return nil, errors.New("the versionTime has another form")
	}
	after := &state{entry: said, deactivated: said.parameters["deactivated"] == true}
	if before == nil {
		after.did, err = born(said.parameters)
	} else {
		after.did, err = before.did, before.checkOrder(said)
	}
	if err == nil && (said.document["id"] != after.did || (before == nil && said.number != 1)) {
		err = errors.New("the document is one of another DID, or the first entry has another number")
	}
	if err == nil && before == nil {
		err = said.checkFirstHash(after.did[strings.LastIndex(after.did, ":")+1:])
	} else if err == nil {
		err = said.checkNextHash(before.versionID)
	}
	if err == nil {
		err = after.readKeys(before, said.parameters)
	}
	if err == nil && before != nil {
		err = after.checkAlone(before)
	}
	if err != nil {
		return nil, err
	}
	signers := after.updateKeys
	if before != nil && len(before.nextKeyHashes) == 0 {
		signers = before.updateKeys
	}
	if len(said.proofs) != 1 || said.proofs[0]["created"] != versionTime {
		return nil, errors.New("the entry has not one proof of its time")
	}
	_, err = checkProof(said.proofs[0], said.body, signers)
	return after, err
}

// checkAlone: what no controller asked for hands the log on to no key that was not committed to before.
func (s *state) checkAlone(before *state) error {
	change, _ := s.parameters["change"].(object)
	stays := strings.Join(s.updateKeys, " ") == strings.Join(before.updateKeys, " ") &&
		strings.Join(s.nextKeyHashes, " ") == strings.Join(before.nextKeyHashes, " ")
	leaves := true
	for _, key := range s.updateKeys {
		leaves = leaves && !contains(before.updateKeys, key)
	}
	rotates, isRight := len(before.nextKeyHashes) > 0, true
	switch change["operation"] {
	case "keyExpired":
		isRight = stays || (leaves && rotates)
	case "logKeyRotated":
		isRight = leaves && rotates
	case "logKeyRetired":
		isRight = stays && rotates
	}
	if !isRight {
		return errors.New("without its controller a log keeps its keys and the next ones, or leaves every key of before")
	}
	return nil
}

// checkOrder says whether an entry may come after this state.
func (s *state) checkOrder(following *entry) error {
	switch {
	case following.number != s.number+1:
		return errors.New("the entry does not have the next number")
	case !following.time.After(s.time):
		return errors.New("the entry is not later than the one before")
	case s.deactivated:
		return errors.New("the DID was deactivated before")
	}
	return nil
}

// born gives the DID that a first entry says; its hash is the identifier.
func born(parameters object) (string, error) {
	method, _ := parameters["method"].(string)
	scid, _ := parameters["scid"].(string)
	prefix := methodText.FindStringSubmatch(method)
	if prefix == nil || !hashText.MatchString(scid) {
		return "", errors.New("the log is of an unknown method, or has no identifier")
	}
	return prefix[1] + ":" + scid, nil
}

// readKeys finds which keys may sign (did:webvh 1.0, "Authorized Keys" and "Pre-Rotation Key Hash Generation and Verification").
func (s *state) readKeys(before *state, parameters object) error {
	_, saysKeys := parameters["updateKeys"]
	hashes, saysHashes := parameters["nextKeyHashes"]
	_, ends := parameters["deactivated"]
	rotates := before != nil && len(before.nextKeyHashes) > 0
	if before != nil && !rotates && ((!saysKeys && !saysHashes) || ends) {
		s.updateKeys, s.nextKeyHashes = before.updateKeys, before.nextKeyHashes
		return nil
	}
	var keysAreTexts, hashesAreTexts bool
	s.updateKeys, keysAreTexts = texts(parameters["updateKeys"])
	s.nextKeyHashes, hashesAreTexts = texts(hashes)
	isShort := len(s.updateKeys) <= mostKeys && len(s.nextKeyHashes) <= mostKeys
	if !isShort || !keysAreTexts || len(s.updateKeys) == 0 || (saysHashes && !hashesAreTexts) || (rotates && !saysHashes) {
		return errors.New("the entry does not say updateKeys and nextKeyHashes as lists of texts")
	}
	// Whoever holds the key of today alone must not be able to hand the log on.
	if before != nil && (len(s.nextKeyHashes) > 0) == ends {
		return errors.New("a log that pre-rotates does so until its end")
	}
	for _, key := range s.updateKeys {
		if rotates && !contains(before.nextKeyHashes, multihash([]byte(key))) {
			return errors.New("the entry before did not commit to a key of updateKeys")
		}
	}
	return nil
}
