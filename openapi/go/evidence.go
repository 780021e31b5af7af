package identity

import (
	"encoding/base64"
	"regexp"
	"strings"
	"time"
)

// evidence is the content of a controller's signature: its body, if the log requires bodies, its challenge, and whether it
// is bound to what the entry states.
type evidence struct {
	asked     object
	challenge string
	end       time.Time
	isBound   bool
}

const mostOfChallenge = 2048

var (
	// Label and origin, DID, purpose, hash of the body, nonce, expiry.
	challengeText = regexp.MustCompile(`^didauth:v1 [!-~]{1,512} (\S+) (\S+) (\S+) (\S+) (` + timePattern + `Z)$`)
	purposes      = map[string]string{"update": "update", "keyRotated": "rotate", "recovered": "recover", "deactivated": "deactivate"}
)

// stepsOf returns the operations in a body of updateDid, or in an entry without one.
func stepsOf(change, asked object) any {
	if asked == nil {
		return change["operations"]
	}
	demand(!has(asked, "operations") || len(asked) == 1, "operations stands alone in a body")
	if has(asked, "operations") {
		return asked["operations"]
	}
	return []any{asked}
}

// authorised verifies the controller's signature. If isStrict, it must be bound to purpose and body.
func (c *control) authorised(after *state, change object, operation string, isStrict bool) evidence {
	purpose, isKnown := purposes[operation]
	demand(isKnown, "the entry records an unknown kind of change")
	said, isRecovery, scheme := record(change["authorization"]), operation == "recovered", "DIDAuth"
	key, challenge := text(said["key"]), text(said["challenge"])
	demand(members(said, "body") == "challenge,key,scheme,signature", "the evidence has other members")
	mayAsk := c.working.mayAuthenticate(key, after.did, after.time)
	if isRecovery {
		mayAsk, scheme = key != "" && key == c.recoveryKey, "RecoveryKey"
	}
	demand(said["scheme"] == scheme, "the evidence is of another scheme")
	demand(mayAsk, "the change was asked for by a key that does not control the DID")
	named := challengeText.FindStringSubmatch(challenge)
	isBound := named != nil && len(challenge) <= mostOfChallenge && named[1] == after.did &&
		(named[2] == purpose || (named[2] == "-" && !isStrict))
	demand(isBound, "the evidence is for something else")
	hash := named[3]
	isHash := len(base64urlDecode(named[4])) == 32 && (hash == "-" || len(base64urlDecode(hash)) == 32)
	demand(isHash, "the evidence is for something else")
	end := instantOf(named[5])
	demand(end.After(after.time) && !end.After(after.time.Add(24*time.Hour)), "the challenge was not in force")
	_, isSpent := c.challenges[challenge]
	demand(!isSpent, "the challenge was spent before")
	isSigned := taken(verifies(key, []byte(challenge), base64urlDecode(text(said["signature"]))))
	demand(isSigned, "the controller's signature is wrong")
	keeps := has(said, "body")
	demand(keeps == (isStrict && operation != "deactivated"), "the entry lacks a body, or keeps one that is not asked for")
	demand(!isStrict || hash != "-", "the challenge is bound to no body")
	var asked object
	if keeps {
		asked = record(said["body"])
		isAsked := HashBody(taken(Canonicalize(asked))) == hash && asks(asked, change, operation, after.did)
		demand(isAsked, "the body asks for something else")
	}
	isInGrace := c.strictGrace && !isRecovery && c.working.method(after.did+"#"+key).revoked != ""
	demand(!isInGrace || !touchesControl(change, operation, asked), "a key in its grace period cannot do this")
	return evidence{asked, challenge, end, isStrict || (operation == "deactivated" && named[2] == purpose && hash != "-")}
}

func touchesControl(change object, operation string, asked object) bool {
	touches := operation != "update"
	if !touches {
		for _, step := range list(stepsOf(change, asked)) {
			kind, _ := record(step)["operation"].(string)
			touches = touches || strings.HasSuffix(kind, "VerificationMethod") || strings.HasSuffix(kind, "StrictEvidence")
		}
	}
	return touches
}

// asks reports whether a body of rotateDidKey or recoverDid requests the change; an update is read from its body alone.
func asks(asked, change object, operation, did string) bool {
	if operation == "update" {
		return !has(change, "operations")
	}
	// What a body leaves out is what the service chose, or the default.
	said := func(name string, otherwise any) any {
		if has(asked, name) {
			return asked[name]
		}
		return otherwise
	}
	key := record(change["newKey"])
	if operation == "keyRotated" {
		old := text(asked["oldKeyId"])
		if strings.HasPrefix(old, "#") {
			old = did + old
		}
		wanted, isText := asked["revokeOldAfter"].(string)
		demand(!isText || wanted != "", "a time is invalid")
		stands := ""
		if has(change, "revokeAt") {
			stands = text(change["revokeAt"])
		}
		return change["oldKeyId"] == old && key["type"] == typeOf(text(asked["newKeyType"])) &&
			same(said("newPublicKeyMultibase", key["publicKeyMultibase"]), key["publicKeyMultibase"]) &&
			same(said("purpose", []any{}), key["purposes"]) && isSameSecond(wanted, stands)
	}
	first := record(asked["newAuthenticationKey"])
	kind, successor := text(key["type"]), asked["newRecoveryKey"]
	return key["type"] == typeOf(text(first["type"])) && same(first["publicKeyMultibase"], key["publicKeyMultibase"]) &&
		same(keyTypes[kind].primary, key["purposes"]) && same(said("revokeAllExistingKeys", false), change["revokeAll"]) &&
		(asked["restoreVersion"] == nil) == !has(change, "restoreVersion") && same(asked["restoreVersion"], change["restoreVersion"]) &&
		(successor == nil || same(record(successor)["publicKeyMultibase"], change["recoveryKey"]))
}

// Entries have times in whole seconds.
func isSameSecond(one, other string) bool {
	if one == "" || other == "" {
		return one == other
	}
	return instantOf(one).Unix() == instantOf(other).Unix()
}

// base64urlDecode takes base64url in its one form.
func base64urlDecode(said string) []byte {
	octets := taken(base64.RawURLEncoding.DecodeString(said))
	demand(base64url(octets) == said, "not base64url in its one form")
	return octets
}
