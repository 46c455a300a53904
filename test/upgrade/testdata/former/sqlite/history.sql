PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE history_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
INSERT INTO history_version VALUES(1,0,1,'2026-11-18 20:50:09');
INSERT INTO history_version VALUES(2,1,1,'2026-11-18 20:50:09');
INSERT INTO history_version VALUES(3,2,1,'2026-11-18 20:50:09');
INSERT INTO history_version VALUES(4,3,1,'2026-11-18 20:50:09');
INSERT INTO history_version VALUES(5,16,1,'2026-11-18 20:50:09');
INSERT INTO history_version VALUES(6,40,1,'2026-11-18 20:50:09');
CREATE TABLE history_calls (
    tenant_id TEXT NOT NULL,
    id        TEXT NOT NULL,
    at        INTEGER NOT NULL,
    kind      TEXT NOT NULL,
    door      TEXT NOT NULL,
    server    TEXT NOT NULL,
    name      TEXT NOT NULL,
    version   TEXT NOT NULL,
    issuer    TEXT NOT NULL,
    subject   TEXT NOT NULL,
    status    TEXT NOT NULL,
    code      TEXT NOT NULL,
    reason    TEXT NOT NULL,
    duration  INTEGER NOT NULL,
    bytes_in  INTEGER NOT NULL,
    bytes_out INTEGER NOT NULL,
    params    TEXT NOT NULL, -- JSON, or ''
    result    TEXT NOT NULL, user_id TEXT NOT NULL DEFAULT '', agent TEXT NOT NULL DEFAULT '', admitted INTEGER NOT NULL DEFAULT 0, connected INTEGER NOT NULL DEFAULT 0, answered INTEGER NOT NULL DEFAULT 0, attempts TEXT NOT NULL DEFAULT '', view_id TEXT NOT NULL DEFAULT '', room_id TEXT NOT NULL DEFAULT '', -- JSON, or ''
    PRIMARY KEY (tenant_id, id)
) STRICT;
INSERT INTO history_calls VALUES('default','18e93ed97ee4c67315ea87c775208bb8',1795035030341325,'tool','delivery','demo','echo','','trigger','echoed','success','','',406,238,44,'{"name":"echo","arguments":{"text":"pages"},"_meta":{"junctor/delivery":{"id":"18e93ed97bd69b2e00009f45f8448915","event":"18e93ed97bca67d1ebd00a6ec6050e12","type":"report.done","source":"api","trigger":"echoed","agent":"41","attempt":1}}}','{"content":[{"type":"text","text":"pages"}]}','','',334,0,0,'','','');
INSERT INTO history_calls VALUES('default','18e93ed999001a5ee1b20b54cafad53a',1795035030779539,'tool','plain','demo','echo','','user','sdyw35lbt5s2ttr7','success','','',119,71,65,'{"name":"demo__echo","arguments":{"text":"from zoe: password=[redacted]"}}','{"content":[{"type":"text","text":"from zoe: password=[redacted]"}]}','sdyw35lbt5s2ttr7','',96,0,0,'','','');
INSERT INTO history_calls VALUES('default','18e93ed99a2c8939abc68d77d25183fb',1795035030799095,'tool','plain','notes','write','','key','onhsofvt3blqv6kq','success','','',1254,61,64,'{"name":"notes__write","arguments":{"text":"from a service"}}','{"content":[{"type":"text","text":"noted: from a service"}]}','','',220,283,1232,'','','');
INSERT INTO history_calls VALUES('default','18e93ed99ba4f3f16f391c4d5fc446a5',1795035030823628,'tool','plain','demo','add','2','agent','qa','success','','',524,46,108,'{"name":"demo__add","arguments":{"a":1,"b":2}}','{"content":[{"type":"text","text":"{\"sum\":3,\"a\":1,\"b\":2}"}],"structuredContent":{"sum":3,"a":1,"b":2}}','','qa',356,0,0,'','','');
INSERT INTO history_calls VALUES('default','18e93ed99c5d8556a0a1367aafc0440e',1795035030835881,'tool','plain','shelf','look','','key','onhsofvt3blqv6kq','success','','',1775297,37,48,'{"name":"shelf__look","arguments":{}}','{"content":[{"type":"text","text":"books"}]}','','',196,1775161,1775282,'','','');
INSERT INTO history_calls VALUES('default','18e93eda0739ccf467b000103156796f',1795035032628824,'tool','plain','','demo__nothing','','key','onhsofvt3blqv6kq','invalid','not_found','unknown tool "demo__nothing"; tools/list shows what there is',0,39,0,'','','','',0,0,0,'','','');
INSERT INTO history_calls VALUES('default','18e93eda3a149ff0df3ff9c482f54e8b',1795035033482062,'tool','turn','demo','echo','','agent','qa','success','','',59,53,47,'{"name":"demo__echo","arguments":{"text":"after me"}}','{"content":[{"type":"text","text":"after me"}]}','','qa',42,0,0,'','','rdznaktdhcbf');
INSERT INTO history_calls VALUES('default','18e93eda8b43cfe104651a8d1a7844f3',1795035034844107,'tool','turn','demo','echo','','agent','qa','success','','',62,53,47,'{"name":"demo__echo","arguments":{"text":"a secret"}}','{"content":[{"type":"text","text":"a secret"}]}','','qa',44,0,0,'','','rhgxpyc7plmj');
INSERT INTO history_calls VALUES('default','18e93eda9cb6a7b4f09903c03d69ca32',1795035035136848,'tool','turn','demo','echo','','agent','qa','success','','',67,51,45,'{"name":"demo__echo","arguments":{"text":"by a2a"}}','{"content":[{"type":"text","text":"by a2a"}]}','','qa',47,0,0,'','','');
CREATE TABLE IF NOT EXISTS "history_usage" (
    tenant_id TEXT NOT NULL,
    day       INTEGER NOT NULL,
    server    TEXT NOT NULL,
    name      TEXT NOT NULL,
    issuer    TEXT NOT NULL,
    subject   TEXT NOT NULL,
    calls     INTEGER NOT NULL,
    errors    INTEGER NOT NULL,
    refused   INTEGER NOT NULL,
    duration  INTEGER NOT NULL,
    bytes_in  INTEGER NOT NULL,
    bytes_out INTEGER NOT NULL,
    d00       INTEGER NOT NULL,
    d01       INTEGER NOT NULL,
    d02       INTEGER NOT NULL,
    d03       INTEGER NOT NULL,
    d04       INTEGER NOT NULL,
    d05       INTEGER NOT NULL,
    d06       INTEGER NOT NULL,
    d07       INTEGER NOT NULL,
    d08       INTEGER NOT NULL,
    d09       INTEGER NOT NULL,
    d10       INTEGER NOT NULL,
    d11       INTEGER NOT NULL,
    d12       INTEGER NOT NULL,
    d13       INTEGER NOT NULL,
    d14       INTEGER NOT NULL,
    d15       INTEGER NOT NULL,
    d16       INTEGER NOT NULL,
    d17       INTEGER NOT NULL,
    door      TEXT NOT NULL,
    user_id   TEXT NOT NULL,
    agent     TEXT NOT NULL,
    PRIMARY KEY (tenant_id, day, server, name, door, issuer, subject, user_id, agent)
) STRICT;
INSERT INTO history_usage VALUES('default',20775,'demo','echo','trigger','echoed',1,0,0,406,238,44,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,'delivery','','');
INSERT INTO history_usage VALUES('default',20775,'demo','add','agent','qa',1,0,0,524,46,108,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,'plain','','qa');
INSERT INTO history_usage VALUES('default',20775,'demo','echo','user','sdyw35lbt5s2ttr7',1,0,0,119,71,65,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,'plain','sdyw35lbt5s2ttr7','');
INSERT INTO history_usage VALUES('default',20775,'notes','write','key','onhsofvt3blqv6kq',1,0,0,1254,61,64,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,'plain','','');
INSERT INTO history_usage VALUES('default',20775,'','(unknown)','key','onhsofvt3blqv6kq',1,0,1,0,39,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,'plain','','');
INSERT INTO history_usage VALUES('default',20775,'shelf','look','key','onhsofvt3blqv6kq',1,0,0,1775297,37,48,0,0,0,0,0,0,0,0,0,0,0,0,0,1,0,0,0,0,'plain','','');
INSERT INTO history_usage VALUES('default',20775,'demo','echo','agent','qa',3,0,0,188,157,139,3,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,'turn','','qa');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('history_version',6);
CREATE INDEX history_calls_time ON history_calls (tenant_id, at, id);
COMMIT;
