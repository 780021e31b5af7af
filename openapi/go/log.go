package identity

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// VerifiedLog is what a valid log proves. It does not show that no newer entries exist: remember VersionID.
type VerifiedLog struct {
	DID         string
	Versions    int
	VersionID   string
	Updated     time.Time
	Deactivated bool
	// UpdateKeys may sign the next entry; in a log of the service, the status lists of its credentials too.
	UpdateKeys []string
	// Document has its numbers as json.Number.
	Document map[string]any
	// UnboundChanges is how many changes the holder of the log key could have recorded with a signature for something else: their challenges
	// name no purpose or no body, or their entries show no body. Nil for did:webvh, whose entries hold no evidence.
	UnboundChanges *int
}

// CheckedEntry is an entry that was checked.
type CheckedEntry struct {
	// Line counts from 1.
	Line      int
	VersionID string
	Time      time.Time
	// Operation is the change that a log of ours records; empty in one of did:webvh.
	Operation string
	// IsAsked is true if a controller's signature requested the change.
	IsAsked bool
}

// LogInvalid names the invalid line of a log, counted from 1, and the Requirement that it does not meet: method, form, order, identifier,
// hash, keys, signature, controller (the signature for a change), change (the document that it leads to) or witnesses.
type LogInvalid struct {
	Line        int
	Reason      string
	Requirement string
}

func (e *LogInvalid) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// LogCheck contains the requirements of a log. A zero value requires nothing.
type LogCheck struct {
	// DID is whose log it must be.
	DID string
	// Now refuses entries that are later.
	Now time.Time
	// Witnesses is the text of the did-witness.json of a log of did:webvh.
	Witnesses string
	// OnEntry is called for each valid entry, before approvals of witnesses are checked.
	OnEntry func(CheckedEntry)
}

// state is the state after the entries so far.
type state struct {
	*entry
	did                       string
	updateKeys, nextKeyHashes []string
	deactivated               bool
	// One of them, by the method of the log.
	control *control
	webvh   *webvhState
}

const (
	mostEntryOctets = 16 << 10
	mostLogKeys     = 10
	proofMembers    = "created,cryptosuite,proofPurpose,proofValue,type,verificationMethod"
)

var (
	methodText = regexp.MustCompile(`^(did:[a-z0-9]+):1\.0$`)
	exactTime  = regexp.MustCompile(`^` + timePattern + `\.[0-9]{6}Z$`)
)

// VerifyLog verifies the text of GetDidLog: identity, order, integrity, the signature for each change, and that it leads from the one document
// before; or a log of did:webvh 1.0. It returns a *LogInvalid.
//
// What `identity did log verify` checks beyond it: that keys of other types than Ed25519 are points of their curves, and the signatures of
// proofs of possession of BBS keys.
func VerifyLog(log string, check LogCheck) (*VerifiedLog, error) {
	var states []*state
	var current *state
	lines := strings.Split(strings.TrimSuffix(log, "\n"), "\n")
	following := next
	if isWebvh(lines[0]) {
		following = nextWebvh
	}
	for place, line := range lines {
		refused := refusalOf(func() {
			after := following(current, line)
			meeting("order", func() { demand(check.Now.IsZero() || !after.time.After(check.Now), "the entry is of the future") })
			// A DID of did:webvh may move, so its last entry names the DID of the log.
			isNamed := check.DID == "" || after.did == check.DID || (after.webvh != nil && place+1 < len(lines))
			meeting("identifier", func() { demand(isNamed, "the log is one of "+after.did) })
			current = after
		})
		if refused != nil {
			return nil, &LogInvalid{place + 1, refused.reason, refused.requirement}
		}
		states = append(states, current)
		if check.OnEntry != nil {
			change, _ := current.parameters["change"].(object)
			operation, _ := change["operation"].(string)
			check.OnEntry(CheckedEntry{place + 1, current.versionID, current.time, operation, has(change, "authorization")})
		}
	}
	if place, reason := unapproved(states, check.Witnesses); reason != "" {
		return nil, &LogInvalid{place + 1, reason, "witnesses"}
	}
	var unbound *int
	if current.control != nil {
		unbound = &current.control.unbound
	}
	return &VerifiedLog{
		current.did, current.number, current.versionID, current.time, current.deactivated, current.updateKeys, current.document, unbound,
	}, nil
}

// isWebvh reports whether the first entry names did:webvh.
func isWebvh(line string) bool {
	if len(line) > mostLineOctets {
		return false
	}
	read, _ := parseJSON([]byte(line))
	first, _ := read.(object)
	parameters, _ := first["parameters"].(object)
	method, _ := parameters["method"].(string)
	return strings.HasPrefix(method, "did:webvh:")
}

// next is the state after an entry of a log of ours.
func next(before *state, line string) *state {
	after := &state{}
	meeting("form", func() { after.entry = readOurs(line) })
	meeting("order", func() { checkOrder(before, after.entry) })
	if before == nil {
		after.did = bornAs(after.parameters)
	} else {
		after.did = before.did
	}
	meeting("identifier", func() { demand(after.document["id"] == after.did, "the document is one of another DID") })
	meeting("hash", func() {
		if before == nil {
			after.checkFirstHash(text(after.parameters["scid"]))
		} else {
			after.checkNextHash(before.versionID)
		}
	})
	meeting("keys", func() { after.readKeys(before) })
	signers := after.updateKeys
	if before != nil && len(before.nextKeyHashes) == 0 {
		signers = before.updateKeys
	}
	var signer string
	meeting("signature", func() {
		after.checkForm()
		signer = checkProof(after.proofs[0], after.body, signers)
	})
	meeting("change", func() {
		others := []string{"change", "updateKeys", "nextKeyHashes", "deactivated"}
		if before == nil {
			others = []string{"change", "updateKeys", "nextKeyHashes", "method", "scid"}
		}
		demand(members(after.parameters, others...) == "", "the entry has a parameter that it cannot have")
		change := record(after.parameters["change"])
		after.control = changed(before, after, change)
		of, proofBy := after.control, "service"
		if before != nil {
			of = before.control
		}
		if of.working.mayAuthenticate(signer, after.did, after.time) {
			proofBy = "controller"
		}
		demand(change["proofBy"] == proofBy, "the entry says that its proof is another's")
		if before != nil {
			meeting("keys", func() { after.checkAlone(before, change) })
		}
		if before != nil && change["operation"] == "logKeyRotated" {
			after.control.retire(before.updateKeys...)
		}
	})
	after.deactivated = after.parameters["deactivated"] == true
	return after
}

func readOurs(line string) *entry {
	demand(len(line) <= mostEntryOctets, "the entry is too large")
	read := taken(parseJSON([]byte(line)))
	// Whatever could be read in two ways, two members of one name or a number that does not fit, is written differently.
	demand(string(taken(Canonicalize(read))) == line, "the entry is not in canonical form")
	said := readEntry(read)
	demand(exactTime.MatchString(text(said.body["versionTime"])), "the versionTime has another form")
	return said
}

// checkForm: an entry of ours has one proof, with nothing in it that no signature of the entry would have.
func (s *state) checkForm() {
	demand(len(s.proofs) == 1 && s.proofs[0]["created"] == s.body["versionTime"], "the entry has not one proof of its time")
	demand(members(s.proofs[0], "possession") == proofMembers, "the proof says something else than the entry")
	demand(!has(s.proofs[0], "possession") || len(record(s.proofs[0]["possession"])) > 0, "the proof has an empty member")
}

// checkAlone: a change without a controller's signature must not pass the log to a key without an earlier commitment.
func (s *state) checkAlone(before *state, change object) {
	stays := strings.Join(s.updateKeys, " ") == strings.Join(before.updateKeys, " ") &&
		strings.Join(s.nextKeyHashes, " ") == strings.Join(before.nextKeyHashes, " ")
	leaves := true
	for _, key := range s.updateKeys {
		leaves = leaves && !contains(before.updateKeys, key)
	}
	rotates, isRight := len(before.nextKeyHashes) > 0, false
	switch change["operation"] {
	case "keyExpired":
		isRight = (stays || leaves) && (rotates || len(s.nextKeyHashes) == 0)
	case "logKeyRotated":
		isRight = leaves && rotates
	case "logKeyRetired":
		isRight = stays && rotates
	default:
		return
	}
	demand(isRight, "without its controller a log keeps its keys and the next ones, or leaves every key of before")
	if change["operation"] != "logKeyRetired" {
		return
	}
	retired := record(change["retired"])
	_, isSize := integer(retired["treeSize"], 1, 1<<53-1)
	_, isFlag := retired["compromised"].(bool)
	key := text(retired["multikey"])
	isSaid := isSize && isFlag && isPublicKey(key) && members(retired) == "compromised,multikey,treeSize"
	demand(isSaid, "the retirement of a log key is malformed")
	isGone := before.control.retired[key] && !contains(before.updateKeys, key)
	demand(isGone, "a key is retired after another has taken the log over from it")
}

// bornAs returns the DID in a first entry; its hash is the identifier.
func bornAs(parameters object) string {
	method, _ := parameters["method"].(string)
	prefix := methodText.FindStringSubmatch(method)
	if prefix == nil {
		panic(unmet{"method", "the log is of an unknown method"})
	}
	scid, _ := parameters["scid"].(string)
	if !hashText.MatchString(scid) {
		panic(unmet{"identifier", "the first entry has no identifier"})
	}
	return prefix[1] + ":" + scid
}

// readKeys finds which keys may sign (did:webvh 1.0, "Authorized Keys" and "Pre-Rotation Key Hash Generation and Verification").
func (s *state) readKeys(before *state) {
	said := s.parameters
	saysKeys, saysHashes, ends := has(said, "updateKeys"), has(said, "nextKeyHashes"), has(said, "deactivated")
	rotates := before != nil && len(before.nextKeyHashes) > 0
	if before != nil && !rotates && (ends || !(saysKeys || saysHashes)) {
		isPlain := !ends || (same(said["updateKeys"], []any{}) && !saysHashes)
		demand(isPlain, "a log that ends says that no key may go on with it")
		s.updateKeys, s.nextKeyHashes = before.updateKeys, before.nextKeyHashes
		return
	}
	demand(saysKeys && (!rotates || saysHashes), "the entry does not say updateKeys and nextKeyHashes")
	s.updateKeys = texts(said["updateKeys"])
	if saysHashes {
		s.nextKeyHashes = texts(said["nextKeyHashes"])
	}
	demand(len(s.updateKeys) <= mostLogKeys && len(s.nextKeyHashes) <= mostLogKeys, "the entry names too many keys")
	demand(len(s.updateKeys) > 0, "the entry names no key")
	for _, key := range s.updateKeys {
		demand(isPublicKey(key), "a key of updateKeys is none of Ed25519")
		isCommitted := !rotates || contains(before.nextKeyHashes, multihash([]byte(key)))
		demand(isCommitted, "the entry before did not commit to a key of updateKeys")
	}
	for _, hash := range s.nextKeyHashes {
		demand(hashText.MatchString(hash), "nextKeyHashes has what is not a hash")
	}
	// The holder of the present key alone must not be able to pass the log on.
	goesOn := len(s.nextKeyHashes) > 0 || (before == nil && !saysHashes)
	demand(goesOn == (before == nil || !ends), "a log that pre-rotates does so until its end")
}
