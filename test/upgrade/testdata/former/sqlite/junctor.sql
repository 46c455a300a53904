PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE schema_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
INSERT INTO schema_version VALUES(1,0,1,'2026-11-18 20:50:09');
INSERT INTO schema_version VALUES(2,1,1,'2026-11-18 20:50:09');
INSERT INTO schema_version VALUES(3,2,1,'2026-11-18 20:50:09');
INSERT INTO schema_version VALUES(4,3,1,'2026-11-18 20:50:09');
INSERT INTO schema_version VALUES(5,4,1,'2026-11-18 20:50:09');
INSERT INTO schema_version VALUES(6,5,1,'2026-11-18 20:50:09');
INSERT INTO schema_version VALUES(7,6,1,'2026-11-18 20:50:09');
INSERT INTO schema_version VALUES(8,7,1,'2026-11-18 20:50:09');
INSERT INTO schema_version VALUES(9,9,1,'2026-11-18 20:50:09');
INSERT INTO schema_version VALUES(10,10,1,'2026-11-18 20:50:09');
INSERT INTO schema_version VALUES(11,12,1,'2026-11-18 20:50:09');
INSERT INTO schema_version VALUES(12,13,1,'2026-11-18 20:50:09');
INSERT INTO schema_version VALUES(13,14,1,'2026-11-18 20:50:09');
INSERT INTO schema_version VALUES(14,15,1,'2026-11-18 20:50:09');
INSERT INTO schema_version VALUES(15,17,1,'2026-11-18 20:50:09');
INSERT INTO schema_version VALUES(16,18,1,'2026-11-18 20:50:09');
INSERT INTO schema_version VALUES(17,19,1,'2026-11-18 20:50:09');
INSERT INTO schema_version VALUES(18,20,1,'2026-11-18 20:50:09');
INSERT INTO schema_version VALUES(19,21,1,'2026-11-18 20:50:09');
INSERT INTO schema_version VALUES(20,23,1,'2026-11-18 20:50:09');
INSERT INTO schema_version VALUES(21,24,1,'2026-11-18 20:50:09');
INSERT INTO schema_version VALUES(22,25,1,'2026-11-18 20:50:09');
INSERT INTO schema_version VALUES(23,26,1,'2026-11-18 20:50:09');
INSERT INTO schema_version VALUES(24,27,1,'2026-11-18 20:50:09');
INSERT INTO schema_version VALUES(25,28,1,'2026-11-18 20:50:09');
INSERT INTO schema_version VALUES(26,29,1,'2026-11-18 20:50:09');
INSERT INTO schema_version VALUES(27,30,1,'2026-11-18 20:50:09');
INSERT INTO schema_version VALUES(28,31,1,'2026-11-18 20:50:09');
INSERT INTO schema_version VALUES(29,32,1,'2026-11-18 20:50:09');
INSERT INTO schema_version VALUES(30,36,1,'2026-11-18 20:50:09');
INSERT INTO schema_version VALUES(31,37,1,'2026-11-18 20:50:09');
INSERT INTO schema_version VALUES(32,39,1,'2026-11-18 20:50:09');
CREATE TABLE tenants (
    tenant_id  TEXT NOT NULL PRIMARY KEY CHECK (tenant_id <> ''),
    name       TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
INSERT INTO tenants VALUES('default','Default',1795035009308000);
INSERT INTO tenants VALUES('acme','Acme',1795035010505943);
CREATE TABLE instance (
    tenant_id  TEXT NOT NULL PRIMARY KEY REFERENCES tenants (tenant_id),
    id         TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE TABLE keys (
    tenant_id    TEXT NOT NULL REFERENCES tenants (tenant_id),
    id           TEXT NOT NULL,
    name         TEXT NOT NULL,
    prefix       TEXT NOT NULL,
    hash         BLOB NOT NULL UNIQUE CHECK (length(hash) = 32), -- SHA-256 of the token; a token names one tenant
    scopes       TEXT NOT NULL,                                  -- parted by spaces
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    revoked_at   INTEGER,
    last_used_at INTEGER, user_id TEXT NOT NULL DEFAULT '', agent TEXT NOT NULL DEFAULT '', former_hash BLOB CHECK (length(former_hash) = 32), former_until INTEGER,
    PRIMARY KEY (tenant_id, id)
) STRICT;
INSERT INTO keys VALUES('default','iivwux2iugu6vjsz','admin','',X'82007d29a6e0686708f2ef128b4d5d2225286cb76e82f74b09324d61ec36f968','admin',1795035009782518,NULL,NULL,1795035038240064,'','',NULL,NULL);
INSERT INTO keys VALUES('acme','2rre6dfzhzdppbhx','admin','jct_2rre6dfz',X'3fb4d49c7eed9b679dac1e7db8a659935e4da7620ecc6e4d16ead9b3c32e9d6d','admin',1795035010505943,NULL,NULL,NULL,'','',NULL,NULL);
INSERT INTO keys VALUES('default','6ujufabyilxbfp4m','zoe','jct_6ujufaby',X'e5afb2e6ae78f2cc3e1d119c46c899b10aa502ef147eb22ee1bf5a2b057935c4','tools:read tools:call',1795035013234920,NULL,NULL,1795035030779459,'sdyw35lbt5s2ttr7','',NULL,NULL);
INSERT INTO keys VALUES('default','onhsofvt3blqv6kq','service','jct_onhsofvt',X'3686e672492444ee29025677b28833ab0e8a4d16f9e899fc0ebe1772e11a79e6','tools:read tools:call audit:read',1795035016227317,NULL,NULL,1795035032628756,'','',NULL,NULL);
INSERT INTO keys VALUES('default','4is2hqe3k45n5gfq','qa','jct_4is2hqe3',X'8192e1d63ed96c8da0562447270cb7ccc24153e33ed6cb09c1d180bbb67ad1a3','tools:read tools:call',1795035023949749,NULL,NULL,NULL,'','qa',NULL,NULL);
INSERT INTO keys VALUES('default','vn36pvmorf5vn244','qa','jct_vn36pvmo',X'3113b60cdedd83fdd0b654689d83b90c03bde5eb175443813c87dacb80733e44','tools:read tools:call',1795035026236784,NULL,NULL,1795035030823561,'','qa',NULL,NULL);
CREATE TABLE servers (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    id         TEXT NOT NULL,
    mode       TEXT NOT NULL,
    title      TEXT NOT NULL,
    state      TEXT NOT NULL,
    last_error TEXT NOT NULL,
    config     TEXT NOT NULL DEFAULT '{}', -- JSON; what it holds depends on the mode
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, id)
) STRICT;
INSERT INTO servers VALUES('default','demo','builtin','Demo','active','','{}',1795035009980084,1795035009980084);
INSERT INTO servers VALUES('default','ocr','builtin','Text recognition','active','','{}',1795035009980522,1795035009980522);
INSERT INTO servers VALUES('default','notes','bring-your-own','Notes','inactive','','{"owner":"key:iivwux2iugu6vjsz","credential":"conn-18e93ed6f211eca52a3c7f2c77d9ddeb","connection":{"transport":"http","url":"http://127.0.0.1:18790/mcp","auth":{"type":"bearer","secret":"***"},"headers":{"X-Team":"***"}}}',1795035019389543,1795035038246031);
INSERT INTO servers VALUES('default','shelf','bring-your-own','A command','inactive','','{"owner":"key:iivwux2iugu6vjsz","credential":"conn-18e93ed7946dd3fb9653e06b8595ff2e","connection":{"transport":"stdio","command":["shelf-mcp"],"env":{"SHELF":"***"}}}',1795035022113411,1795035038323864);
INSERT INTO servers VALUES('default','pets','auto-generated','Pets','inactive','','{"owner":"key:iivwux2iugu6vjsz","connection":{"transport":"http","url":"http://127.0.0.1:18791"},"api":{"title":"Pets","version":"1"}}',1795035022208404,1795035038369654);
INSERT INTO servers VALUES('default','events','builtin','Events','active','','{}',1795035029835595,1795035029835595);
INSERT INTO servers VALUES('default','agent-1-41','discovered','Agent 41 on main','inactive','','{"found":"eip155:1:0x8004a818bfb912233c491871b3d84c89a494bd9e/41","connection":{"url":"http://127.0.0.1:18792/mcp"}}',1795035019389543,1795035038246031);
CREATE TABLE removed_servers (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    id         TEXT NOT NULL,
    removed_at INTEGER NOT NULL, owner TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (tenant_id, id)
) STRICT;
CREATE TABLE settings (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    name       TEXT NOT NULL,
    value      TEXT NOT NULL, -- JSON
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, name)
) STRICT;
INSERT INTO settings VALUES('default','roles','["Legal"]',1795035028054616);
INSERT INTO settings VALUES('default','limits','{"tiers":{"free":{"per_second":5,"per_day":2000},"pro":{"per_second":100,"burst":200,"per_day":1000000,"concurrent":64},"unlimited":{}},"tools":{"demo/echo":{"concurrent":7}}}',1795035029367424);
CREATE TABLE sessions (
    tenant_id     TEXT NOT NULL REFERENCES tenants (tenant_id),
    id            TEXT NOT NULL,
    issuer        TEXT NOT NULL,
    subject       TEXT NOT NULL,
    log_level     TEXT NOT NULL,
    subscriptions TEXT NOT NULL, -- JSON array of URIs
    capabilities  BLOB,
    expires_at    INTEGER NOT NULL,
    revoked       INTEGER NOT NULL CHECK (revoked IN (0, 1)),
    PRIMARY KEY (tenant_id, id)
) STRICT;
CREATE TABLE used_states (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    id         TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE ring_keys (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    id         TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    wrapped    BLOB NOT NULL, -- by a key that is not in this database
    PRIMARY KEY (tenant_id, id)
) STRICT;
INSERT INTO ring_keys VALUES('default','SumHEcVy',1795035009732026,X'6332dee6a2ccb6b757e663fc84e058c2fda23162f2f2a6b7cd549b46b1035cf2e9fe1c8b16e7bf00dad588a884c132dbc40232f9dc2f569fba035afde2f831c619a6744d');
CREATE TABLE secrets (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    owner      TEXT NOT NULL,
    name       TEXT NOT NULL CHECK (name <> ''),
    key_id     TEXT NOT NULL,
    wrapped    BLOB NOT NULL,
    ciphertext BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, owner, name)
) STRICT;
INSERT INTO secrets VALUES('default','notes','conn-18e93ed6f211eca52a3c7f2c77d9ddeb','6332dee6a2ccb6b7',X'6332dee6a2ccb6b7e1e06fca5eeddd5da77334d084d636e2b3a95d7fbf6e36d5ed291a009585ac73600028088ca1157ed50cb76beb1b57628e9cb4bf021c60dee4635a89',X'e45a134ee4a5b793af50ef5adacaf1264206bdad875a5c8b9f2b1143a200369c13fd0b21ef9afa055743c99e9391a8783ed7b0bf36918eb898834ba39949495359a311afe5b3b1d74c483a1d0e25c63162bdf1f0b2da20205d8cb024b6ec3bf214a50886521309e8a677c731f75b459a408f0a33255821d860c57f8ae0d343667c41c625',1795035019389140,1795035019389140);
INSERT INTO secrets VALUES('default','shelf','conn-18e93ed7946dd3fb9653e06b8595ff2e','6332dee6a2ccb6b7',X'6332dee6a2ccb6b72e2cd47b6a091422c2a50c535c9d5079e5a2cfcdae9b2182eccaa748f4679a3c0f0684f37227b745c6076ac600db30fbc5e2303048419bcfbd1da5a1',X'b6f636ea765b70fd690c41716b3685a2ef36b97be4fd0789613d101ed5914fbf785676513b6012faa2b1714e85ae7a53d9c0a25f66f71954a081ee747af5abb6373e0381dfb0608719e2b0',1795035022113073,1795035022113073);
INSERT INTO secrets VALUES('default','endpoint','token-3c5abfb3e2ae1753fd35f65a32b72487','6332dee6a2ccb6b7',X'6332dee6a2ccb6b7e82dce2348e93bc2e4cf9e7ef038395d30a5d986913e5f1b3fd2b73f3762b2bb1210405eac646ab7e8a371aed1f895aa24f9a230d506e77a0d652f50',X'aad7417fcf4bbe0273470ad402d8841c6a802537eee0cbf8bd9f077274a3935ffcbe18f990c65de46f9adedb7ecaf31c78e7',1795035027666670,1795035027666670);
INSERT INTO secrets VALUES('default','endpoint','sign-3c5abfb3e2ae1753fd35f65a32b72487','6332dee6a2ccb6b7',X'6332dee6a2ccb6b7670c1ea6e2497dd3a8c5be11da0177f429f005a8aae2f3517a4f0356073009fb14ec9b7aef75deeff2bc2d6102ab5c85599a17763f9d1ab75171f055',X'53c4283683cf8afae172b5f3b3753d08c0b283850253515f292b67ef620e4a03662ee3d93fa10d2cec3460c29853b70700a9d90fcf00ce00ab743bc3ad5f3db7dcbaaf0d50f53ba265fa1a634c8b',1795035027666925,1795035027666925);
INSERT INTO secrets VALUES('default','model:local','key','6332dee6a2ccb6b7',X'6332dee6a2ccb6b71f18f1352003d813b41db0efff0c3d3962fc206f2ba1f80bf41b151d5f6c9146998512f45fef23e8059ce8cd3294cd012c5a7756f10e9631a5512196',X'3f6d548b8987098f050f19e58d7643351dd7dc5bf2dbaa1fbd952c683f723535fcfb11e621c11d3f43b298ebce594f',1795035027699939,1795035027699939);
INSERT INTO secrets VALUES('default','ocr','google_vision','6332dee6a2ccb6b7',X'6332dee6a2ccb6b7ac95a2810f0d43b04411c71837e7c35e45f778c5f6c78b0bcf6b357d2b162eb00c1539feaf6e73c87f9bff009e254062696b2c49a98ad68abc9c8b94',X'2df19183cee2026a3ee2a9d590935d6b333c9bd17098f3b7caa6a6150837e93d7360893e781dec506ccf1e3b',1795035027833610,1795035027833610);
INSERT INTO secrets VALUES('default','source:shop','secret','6332dee6a2ccb6b7',X'6332dee6a2ccb6b738698497272ff67edadbc455f581fa30934342641b35f28a084ab498f790a698654a0fcb8ad66566653b1dde86f6b8fd9fb16669a6387fc4ec85c130',X'b4e540afc33e0a113fd881eb444dcab2e551d7dc0ddb8075e67e39f4b671d1e3d7c0e355587117acb5d71c9c7d3eef33a1eaf45b04981f44d744ecea3283118275c5',1795035029575516,1795035029575516);
CREATE TABLE seen_servers (
    tenant_id TEXT NOT NULL,
    id        TEXT NOT NULL,
    offer     BLOB NOT NULL,
    isolated  INTEGER NOT NULL CHECK (isolated IN (0, 1)),
    seen_at   INTEGER NOT NULL, isolated_why TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, id) REFERENCES servers (tenant_id, id) ON DELETE CASCADE
) STRICT;
INSERT INTO seen_servers VALUES('default','notes',X'ffa67f030101054f6666657201ff8000010b010c496e737472756374696f6e73010c000105546f6f6c7301ff840001095265736f757263657301ff8800010954656d706c6174657301ff8800010750726f6d70747301ff8c00010b436f6d706c6574696f6e73010200010953756273637269626501020001074c6f6767696e6701020001055461736b73010200010741776169746564010200010842656c6965766564010200000020ff83020101115b5d636174616c6f672e546f6f6c44656601ff840001ff8200006eff8103010107546f6f6c44656601ff8200010801044e616d65010c00010756657273696f6e010c00010744656661756c74010200010754696d656f757401040001044a534f4e010a00010450616765010c000105546f706963010c00010b436f6e646974696f6e616c010200000024ff87020101155b5d636174616c6f672e5265736f7572636544656601ff880001ff8600002aff850301010b5265736f7572636544656601ff860001020103555249010c0001044a534f4e010a00000022ff8b020101135b5d636174616c6f672e50726f6d707444656601ff8c0001ff8a000029ff890301010950726f6d707444656601ff8a00010201044e616d65010c0001044a534f4e010a000000ff90ff8002010105777269746504ff807b226e616d65223a20227772697465222c20226465736372697074696f6e223a20225772697465732061206e6f7465222c2022696e707574536368656d61223a207b2274797065223a20226f626a656374222c202270726f70657274696573223a207b2274657874223a207b2274797065223a2022737472696e67227d7d7d7d0000',0,1795035019404031,'');
INSERT INTO seen_servers VALUES('default','shelf',X'ffa67f030101054f6666657201ff8000010b010c496e737472756374696f6e73010c000105546f6f6c7301ff840001095265736f757263657301ff8800010954656d706c6174657301ff8800010750726f6d70747301ff8c00010b436f6d706c6574696f6e73010200010953756273637269626501020001074c6f6767696e6701020001055461736b73010200010741776169746564010200010842656c6965766564010200000020ff83020101115b5d636174616c6f672e546f6f6c44656601ff840001ff8200006eff8103010107546f6f6c44656601ff8200010801044e616d65010c00010756657273696f6e010c00010744656661756c74010200010754696d656f757401040001044a534f4e010a00010450616765010c000105546f706963010c00010b436f6e646974696f6e616c010200000024ff87020101155b5d636174616c6f672e5265736f7572636544656601ff880001ff8600002aff850301010b5265736f7572636544656601ff860001020103555249010c0001044a534f4e010a00000022ff8b020101135b5d636174616c6f672e50726f6d707444656601ff8c0001ff8a000029ff890301010950726f6d707444656601ff8a00010201044e616d65010c0001044a534f4e010a00000041ff80020101046c6f6f6b04337b226e616d65223a20226c6f6f6b222c2022696e707574536368656d61223a207b2274797065223a20226f626a656374227d7d0000',0,1795035032611491,'');
CREATE TABLE audit_pages (
    node      TEXT NOT NULL,
    last      INTEGER NOT NULL CHECK (last > 0),
    first     INTEGER NOT NULL CHECK (first > 0),
    held      INTEGER NOT NULL,
    records   TEXT NOT NULL,
    tenant_id TEXT NOT NULL DEFAULT '' CHECK (tenant_id = ''),
    PRIMARY KEY (node, last)
) STRICT;
INSERT INTO audit_pages VALUES('18e93ed4b285b393f06a3b182992be9b',1,1,1,replace('1 5c13baa7a3419f12c27be9c90834eec12d89f078569c934c1bffed1c206c9f50 {"seq":1,"node":"18e93ed4b285b393f06a3b182992be9b","time":"2026-11-18T20:50:09.761692Z","phase":"segment","prev":"0000000000000000000000000000000000000000000000000000000000000000"}\n','\n',char(10)),'');
INSERT INTO audit_pages VALUES('18e93ed4b285b393f06a3b182992be9b',3,2,2,replace('2 73383e9b4f3da20bcbc2ea47e66d3318d166b299736f14f26f153bb16cd6b479 {"seq":2,"node":"18e93ed4b285b393f06a3b182992be9b","time":"2026-11-18T20:50:30.341623Z","phase":"start","call":"18e93ed97ee4c67315ea87c775208bb8","tenant":"default","kind":"tool","door":"delivery","server":"demo","name":"echo","issuer":"trigger","subject":"echoed","status":"running","bytes_in":238,"args_b3":"cd76dec7d0b8b3883fd458ae2f0bf1966fa8ccaa5c860e880ec7ad29016912a3"}\n3 8e30afb3d18a720fa81d2dc7f3c7d3614d7541b056775fb5aee2f04bfd57866f {"seq":3,"node":"18e93ed4b285b393f06a3b182992be9b","time":"2026-11-18T20:50:30.341740Z","phase":"end","call":"18e93ed97ee4c67315ea87c775208bb8","tenant":"default","kind":"tool","door":"delivery","server":"demo","name":"echo","issuer":"trigger","subject":"echoed","status":"success","duration_us":406,"bytes_in":238,"bytes_out":44,"args_b3":"cd76dec7d0b8b3883fd458ae2f0bf1966fa8ccaa5c860e880ec7ad29016912a3","result_b3":"8b86443e464456560c5f0407af98509a7710075d362690f22dcf493ffe0b1af3"}\n','\n',char(10)),'');
INSERT INTO audit_pages VALUES('18e93ed4b285b393f06a3b182992be9b',9,4,6,replace('4 61217e4d9b1a057d01e4e461ac422ea2da35656621f1f6aabb93105eb79d6f58 {"seq":4,"node":"18e93ed4b285b393f06a3b182992be9b","time":"2026-11-18T20:50:30.779615Z","phase":"start","call":"18e93ed999001a5ee1b20b54cafad53a","tenant":"default","kind":"tool","door":"plain","server":"demo","name":"echo","issuer":"user","subject":"sdyw35lbt5s2ttr7","status":"running","bytes_in":71,"args_b3":"5c692241e472b94332ba9a4fcc20a6b083716ffa826aa93a59b62f4f826650fe"}\n5 9187d981e649b20db4767a08dd26342c2c39800a48a7bae644db46be28152848 {"seq":5,"node":"18e93ed4b285b393f06a3b182992be9b","time":"2026-11-18T20:50:30.779669Z","phase":"end","call":"18e93ed999001a5ee1b20b54cafad53a","tenant":"default","kind":"tool","door":"plain","server":"demo","name":"echo","issuer":"user","subject":"sdyw35lbt5s2ttr7","status":"success","duration_us":119,"bytes_in":71,"bytes_out":65,"args_b3":"5c692241e472b94332ba9a4fcc20a6b083716ffa826aa93a59b62f4f826650fe","result_b3":"9f1168fbddbb596f24b05d458d28f80c48bee94f1ebe821050afea7ee5457329"}\n6 fcb0bc69a1275e903c67ac3916862db1d57e6398b6aad9a7c9c7c24aeb32487d {"seq":6,"node":"18e93ed4b285b393f06a3b182992be9b","time":"2026-11-18T20:50:30.799297Z","phase":"start","call":"18e93ed99a2c8939abc68d77d25183fb","tenant":"default","kind":"tool","door":"plain","server":"notes","name":"write","issuer":"key","subject":"onhsofvt3blqv6kq","status":"running","bytes_in":61,"args_b3":"dd9b3b06f97b1109b1f09a560135537353a2a4721ef4b1351e713a9a2556741e"}\n7 36fa6e64749146a1e358d7d3ce4acb8a4d500fbb3bf5871e55396bb3b8f90a39 {"seq":7,"node":"18e93ed4b285b393f06a3b182992be9b","time":"2026-11-18T20:50:30.800357Z","phase":"end","call":"18e93ed99a2c8939abc68d77d25183fb","tenant":"default","kind":"tool","door":"plain","server":"notes","name":"write","issuer":"key","subject":"onhsofvt3blqv6kq","status":"success","duration_us":1254,"bytes_in":61,"bytes_out":64,"args_b3":"dd9b3b06f97b1109b1f09a560135537353a2a4721ef4b1351e713a9a2556741e","result_b3":"86e0cd0acd9ddb787d2473fe8e078ed45e6ab63c66b90accfa9a8c8daa86ebc3"}\n8 1d43cd46561f4d5997600bb28873118e3819ef918270bf55609990d22ba79023 {"seq":8,"node":"18e93ed4b285b393f06a3b182992be9b","time":"2026-11-18T20:50:30.823968Z","phase":"start","call":"18e93ed99ba4f3f16f391c4d5fc446a5","tenant":"default","kind":"tool","door":"plain","server":"demo","name":"add","version":"2","issuer":"agent","subject":"qa","status":"running","bytes_in":46,"args_b3":"8e80439b77ac62d4194499edd46684c479da3aa1ac80dd5511468efae049166e"}\n9 7832b7ed907d3ab10295df8b3afea6a099c46cf3110725806cb00854917dd79f {"seq":9,"node":"18e93ed4b285b393f06a3b182992be9b","time":"2026-11-18T20:50:30.824161Z","phase":"end","call":"18e93ed99ba4f3f16f391c4d5fc446a5","tenant":"default","kind":"tool","door":"plain","server":"demo","name":"add","version":"2","issuer":"agent","subject":"qa","status":"success","duration_us":524,"bytes_in":46,"bytes_out":108,"args_b3":"8e80439b77ac62d4194499edd46684c479da3aa1ac80dd5511468efae049166e","result_b3":"06c1a305f045c1224bd8ede1f0585589693f1c5521d10d8e806726817cdf2de9"}\n','\n',char(10)),'');
INSERT INTO audit_pages VALUES('18e93ed4b285b393f06a3b182992be9b',10,10,1,replace('10 8a741d6462a6d8e28d222d0f20010db80337fe92b23163b427a31b2d8b412e57 {"seq":10,"node":"18e93ed4b285b393f06a3b182992be9b","time":"2026-11-18T20:50:30.836061Z","phase":"start","call":"18e93ed99c5d8556a0a1367aafc0440e","tenant":"default","kind":"tool","door":"plain","server":"shelf","name":"look","issuer":"key","subject":"onhsofvt3blqv6kq","status":"running","bytes_in":37,"args_b3":"6e46dd10defc9b56c29a6ec56b508c21f54c08192194e4df25bf36f0c9c3c279"}\n','\n',char(10)),'');
INSERT INTO audit_pages VALUES('18e93ed4b285b393f06a3b182992be9b',12,11,2,replace('11 6c4a7d30bec5bafa92a551f7dcdac101cbe481a1180ef7c1dae8d279a3e55022 {"seq":11,"node":"18e93ed4b285b393f06a3b182992be9b","time":"2026-11-18T20:50:32.611187Z","phase":"end","call":"18e93ed99c5d8556a0a1367aafc0440e","tenant":"default","kind":"tool","door":"plain","server":"shelf","name":"look","issuer":"key","subject":"onhsofvt3blqv6kq","status":"success","duration_us":1775297,"bytes_in":37,"bytes_out":48,"args_b3":"6e46dd10defc9b56c29a6ec56b508c21f54c08192194e4df25bf36f0c9c3c279","result_b3":"dd00cd04a4e02273b7cb7df246ab4a3fedd2c8c16abf1352f9835edc0d36dba2"}\n12 614d782e97ac569bba5ed7b5f487dbdc46cb2a6ccc348ab8478261c91f92de68 {"seq":12,"node":"18e93ed4b285b393f06a3b182992be9b","time":"2026-11-18T20:50:32.628887Z","phase":"refuse","call":"18e93eda0739ccf467b000103156796f","tenant":"default","kind":"tool","door":"plain","name":"demo__nothing","issuer":"key","subject":"onhsofvt3blqv6kq","status":"invalid","code":"not_found","reason":"unknown tool \"demo__nothing\"; tools/list shows what there is","bytes_in":39}\n','\n',char(10)),'');
INSERT INTO audit_pages VALUES('18e93ed4b285b393f06a3b182992be9b',14,13,2,replace('13 a6754dbf42d39d9db4558e4a84819c25745dccdf143c9b84d1c9571a6967e451 {"seq":13,"node":"18e93ed4b285b393f06a3b182992be9b","time":"2026-11-18T20:50:33.482083Z","phase":"start","call":"18e93eda3a149ff0df3ff9c482f54e8b","tenant":"default","kind":"tool","door":"turn","server":"demo","name":"echo","issuer":"agent","subject":"qa","room":"rdznaktdhcbf","status":"running","bytes_in":53,"args_b3":"bbb17a6778851cbcfc917f5790e4ecbc359a89a8265cbe736efab0999c5e17fc"}\n14 d1190e0bb451797d632f7b09ad01477cbbe5e7be944d4a8945d090d27336b0ee {"seq":14,"node":"18e93ed4b285b393f06a3b182992be9b","time":"2026-11-18T20:50:33.482123Z","phase":"end","call":"18e93eda3a149ff0df3ff9c482f54e8b","tenant":"default","kind":"tool","door":"turn","server":"demo","name":"echo","issuer":"agent","subject":"qa","room":"rdznaktdhcbf","status":"success","duration_us":59,"bytes_in":53,"bytes_out":47,"args_b3":"bbb17a6778851cbcfc917f5790e4ecbc359a89a8265cbe736efab0999c5e17fc","result_b3":"aeeb77ef32fd537ad08062de8fd127decdec910f8719e34356542f706f731695"}\n','\n',char(10)),'');
INSERT INTO audit_pages VALUES('18e93ed4b285b393f06a3b182992be9b',16,15,2,replace('15 512a403ea51cb158e09c0e1c6e318e46343d002ab1cf645f04ab15764d01d42a {"seq":15,"node":"18e93ed4b285b393f06a3b182992be9b","time":"2026-11-18T20:50:34.844130Z","phase":"start","call":"18e93eda8b43cfe104651a8d1a7844f3","tenant":"default","kind":"tool","door":"turn","server":"demo","name":"echo","issuer":"agent","subject":"qa","room":"rhgxpyc7plmj","status":"running","bytes_in":53,"args_b3":"e4c6105af952e0fbb4586968dc99ba34690dc1ea389a76193c4dfd8d58cad0b1"}\n16 8bda75cae586efdc792c5d06be2c3f9f23e3b60aa82eb5db0acf837adc004bbf {"seq":16,"node":"18e93ed4b285b393f06a3b182992be9b","time":"2026-11-18T20:50:34.844171Z","phase":"end","call":"18e93eda8b43cfe104651a8d1a7844f3","tenant":"default","kind":"tool","door":"turn","server":"demo","name":"echo","issuer":"agent","subject":"qa","room":"rhgxpyc7plmj","status":"success","duration_us":62,"bytes_in":53,"bytes_out":47,"args_b3":"e4c6105af952e0fbb4586968dc99ba34690dc1ea389a76193c4dfd8d58cad0b1","result_b3":"98858be7806555e3b0dfb001e74c79710fca79838a4b9964c685f2690038005f"}\n','\n',char(10)),'');
INSERT INTO audit_pages VALUES('18e93ed4b285b393f06a3b182992be9b',18,17,2,replace('17 6fffde3e71ec6196b58d8283cf37b5742b52ed6c6b7358b34de6de4aa0a93833 {"seq":17,"node":"18e93ed4b285b393f06a3b182992be9b","time":"2026-11-18T20:50:35.136868Z","phase":"start","call":"18e93eda9cb6a7b4f09903c03d69ca32","tenant":"default","kind":"tool","door":"turn","server":"demo","name":"echo","issuer":"agent","subject":"qa","status":"running","bytes_in":51,"args_b3":"6725e7b78d1e2dd881e3463856edf44bf5f2717c0430e49ea9a29285ca9d3bd2"}\n18 b10ebd5792cac81449721fb54cbc88a340befa1c69f28e940c1074e9d8b72b43 {"seq":18,"node":"18e93ed4b285b393f06a3b182992be9b","time":"2026-11-18T20:50:35.136918Z","phase":"end","call":"18e93eda9cb6a7b4f09903c03d69ca32","tenant":"default","kind":"tool","door":"turn","server":"demo","name":"echo","issuer":"agent","subject":"qa","status":"success","duration_us":67,"bytes_in":51,"bytes_out":45,"args_b3":"6725e7b78d1e2dd881e3463856edf44bf5f2717c0430e49ea9a29285ca9d3bd2","result_b3":"684bd228ff09e16c52b468b59fc64d42fe10149135dfd45ecbee476dfb6a23f8"}\n','\n',char(10)),'');
CREATE TABLE tasks (
    tenant_id  TEXT NOT NULL,
    id         TEXT NOT NULL,
    issuer     TEXT NOT NULL,
    subject    TEXT NOT NULL,
    server     TEXT NOT NULL,
    tool       TEXT NOT NULL,
    version    TEXT NOT NULL,
    own        TEXT NOT NULL,
    state      BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, server) REFERENCES servers (tenant_id, id) ON DELETE CASCADE
) STRICT;
CREATE TABLE users (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    id         TEXT NOT NULL,
    name       TEXT NOT NULL CHECK (name <> ''),
    role       TEXT NOT NULL,
    sources    TEXT NOT NULL,
    tier       TEXT NOT NULL,
    password   TEXT NOT NULL,
    disabled   INTEGER NOT NULL CHECK (disabled IN (0, 1)),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, name)
) STRICT;
INSERT INTO users VALUES('default','sdyw35lbt5s2ttr7','zoe@example.com','developer','both','free','$argon2id$v=19$m=19456,t=2,p=1$Swm4p/Om6qw2JXch9jxLEQ$584SZXj3HB9xT9xuq/dxMqhtQqYF+nG64MiBz2i/0gQ',0,1795035011239289,1795035012992206);
INSERT INTO users VALUES('default','yfavtyjtlprvpu4u','ann@example.com','admin','bring-your-own','free','',0,1795035011472690,1795035011472690);
CREATE TABLE user_links (
    issuer     TEXT NOT NULL,
    subject    TEXT NOT NULL,
    tenant_id  TEXT NOT NULL,
    user_id    TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (issuer, subject),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
) STRICT;
CREATE TABLE logins (
    tenant_id    TEXT NOT NULL,
    id           TEXT NOT NULL,
    user_id      TEXT NOT NULL,
    kind         TEXT NOT NULL CHECK (kind IN ('session', 'link')),
    hash         BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    how          TEXT NOT NULL, -- link, password or the issuer that vouched
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    revoked_at   INTEGER,
    last_used_at INTEGER,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
) STRICT;
CREATE TABLE agents (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    name       TEXT NOT NULL,
    role       TEXT NOT NULL,
    tier       TEXT NOT NULL,
    owner      TEXT NOT NULL,
    disabled   INTEGER NOT NULL CHECK (disabled IN (0, 1)),
    config     TEXT NOT NULL DEFAULT '{}', -- JSON: what no query asks for
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, name)
) STRICT;
INSERT INTO agents VALUES('default','qa','General','','key:iivwux2iugu6vjsz',0,'{"title":"The tester","limits":{"per_day":1000},"brain":{"rules":"intents:\n  - match: ''repeat (?P\u003cwords\u003e.+)''\n    calls:\n      - tool: demo__echo\n        arguments: {text: \"{{words}}\"}\n        as: said\n    say: \"You said: {{said}}\"\nfallback: I can repeat.\n"},"published":true}',1795035023948940,1795035023948940);
CREATE TABLE agent_grants (
    tenant_id TEXT NOT NULL,
    agent     TEXT NOT NULL,
    kind      TEXT NOT NULL CHECK (kind IN ('tool', 'resource', 'prompt')),
    server    TEXT NOT NULL,
    item      TEXT NOT NULL CHECK (item <> ''),
    PRIMARY KEY (tenant_id, agent, kind, server, item),
    FOREIGN KEY (tenant_id, agent) REFERENCES agents (tenant_id, name) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, server) REFERENCES servers (tenant_id, id) ON DELETE CASCADE
) STRICT;
INSERT INTO agent_grants VALUES('default','qa','tool','demo','*');
INSERT INTO agent_grants VALUES('default','qa','tool','notes','write');
CREATE TABLE tool_tags (
    tenant_id  TEXT NOT NULL,
    server     TEXT NOT NULL,
    tool       TEXT NOT NULL,
    roles      TEXT NOT NULL, -- JSON array; [] leaves them to the rules
    category   TEXT NOT NULL, -- '' leaves it to the rules
    tagged_by  TEXT NOT NULL,
    tagged_at  INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, server, tool),
    FOREIGN KEY (tenant_id, server) REFERENCES servers (tenant_id, id) ON DELETE CASCADE
) STRICT;
INSERT INTO tool_tags VALUES('default','demo','echo','[]','Testing','key:iivwux2iugu6vjsz',1795035028335562);
CREATE TABLE tool_changes (
    tenant_id     TEXT NOT NULL,
    id            TEXT NOT NULL,
    server        TEXT NOT NULL,
    tool          TEXT NOT NULL,
    before_digest TEXT NOT NULL, -- '' for a tool that is new
    after_digest  TEXT NOT NULL, -- '' for a tool that is gone
    before_json   BLOB,
    after_json    BLOB,
    seen_at       INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, server) REFERENCES servers (tenant_id, id) ON DELETE CASCADE
) STRICT;
CREATE TABLE day_counts (
    tenant_id TEXT NOT NULL REFERENCES tenants (tenant_id),
    party     TEXT NOT NULL,
    day       INTEGER NOT NULL, -- days since 1970 in UTC
    calls     INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, party, day)
) STRICT, WITHOUT ROWID;
INSERT INTO day_counts VALUES('default','agent/qa',20775,4);
INSERT INTO day_counts VALUES('default','user/sdyw35lbt5s2ttr7',20775,1);
CREATE TABLE clients (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    id         TEXT NOT NULL,
    name       TEXT NOT NULL,
    redirects  TEXT NOT NULL, -- JSON array
    created_at INTEGER NOT NULL,
    used_at    INTEGER, -- when somebody last consented; those without are dropped after a day
    PRIMARY KEY (tenant_id, id)
) STRICT;
CREATE TABLE consents (
    tenant_id    TEXT NOT NULL,
    id           TEXT NOT NULL,
    user_id      TEXT NOT NULL,
    client_id    TEXT NOT NULL,
    client_name  TEXT NOT NULL,
    redirect     TEXT NOT NULL,
    resource     TEXT NOT NULL,
    scopes       TEXT NOT NULL, -- JSON array
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    last_used_at INTEGER,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, user_id, client_id, resource),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
) STRICT;
CREATE TABLE consent_tokens (
    tenant_id  TEXT NOT NULL,
    hash       BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    kind       TEXT NOT NULL CHECK (kind IN ('code', 'access', 'refresh')),
    consent_id TEXT NOT NULL,
    family     TEXT NOT NULL, -- all that came of one code
    scopes     TEXT NOT NULL, -- JSON array
    redirect   TEXT NOT NULL, -- of a code: where it was sent
    challenge  TEXT NOT NULL, -- of a code: what its verifier hashes to
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at    INTEGER,
    salt       BLOB, -- of a used one: what its followers were made with
    PRIMARY KEY (tenant_id, hash),
    FOREIGN KEY (tenant_id, consent_id) REFERENCES consents (tenant_id, id) ON DELETE CASCADE
) STRICT;
CREATE TABLE login_traces (
    tenant_id TEXT NOT NULL,
    id        TEXT NOT NULL, -- sorts as they were made
    server    TEXT NOT NULL,
    user_id   TEXT, -- whose login it is; NULL where it is everybody's
    ok        INTEGER NOT NULL CHECK (ok IN (0, 1)),
    body      TEXT NOT NULL, -- JSON
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, server) REFERENCES servers (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
) STRICT;
CREATE TABLE api_documents (
    tenant_id  TEXT NOT NULL,
    server     TEXT NOT NULL,
    document   BLOB NOT NULL,
    etag       TEXT NOT NULL,
    tools      BLOB NOT NULL,
    fetched_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, server),
    FOREIGN KEY (tenant_id, server) REFERENCES servers (tenant_id, id) ON DELETE CASCADE
) STRICT;
INSERT INTO api_documents VALUES('default','pets',X'7b226f70656e617069223a22332e312e30222c22696e666f223a7b227469746c65223a2250657473222c2276657273696f6e223a2231227d2c227061746873223a7b222f70657473223a7b22676574223a7b226f7065726174696f6e4964223a226c69737450657473222c22726573706f6e736573223a7b22323030223a7b226465736372697074696f6e223a2270657473227d7d7d7d7d7d','',X'5b7b226b6579223a22474554202f70657473222c226e616d65223a226c6973745f70657473222c227469746c65223a224c6973742070657473222c226465736372697074696f6e223a22474554202f70657473222c22696e707574223a7b226164646974696f6e616c50726f70657274696573223a66616c73652c2270726f70657274696573223a7b7d2c2274797065223a226f626a656374227d2c22616e6e6f746174696f6e73223a7b22726561644f6e6c7948696e74223a747275652c226964656d706f74656e7448696e74223a747275652c226f70656e576f726c6448696e74223a747275657d2c226964223a226c69737450657473222c22776f726473223a5b2270657473225d2c226174223a7b2266696c65223a22646f63756d656e74222c226c696e65223a312c22636f6c756d6e223a37367d2c22706c616e223a7b226d6574686f64223a22474554222c2270617468223a222f70657473227d7d5d',1795035022208978);
CREATE TABLE jobs (
    tenant_id    TEXT NOT NULL REFERENCES tenants (tenant_id),
    id           TEXT NOT NULL PRIMARY KEY,
    queue        TEXT NOT NULL,
    lane         TEXT NOT NULL, -- what shares fate; begins with the tenant
    order_key    TEXT NOT NULL, -- '' is no order
    seq          INTEGER NOT NULL,
    blocks       INTEGER NOT NULL, -- 1 while those behind it in its line have to wait
    dedupe_key   TEXT,
    event        TEXT NOT NULL,
    trigger_id   TEXT NOT NULL,
    agent        TEXT NOT NULL,
    tool         TEXT NOT NULL,
    payload      TEXT NOT NULL,
    state        TEXT NOT NULL CHECK (state IN ('waiting', 'ready', 'leased', 'held', 'done', 'dead', 'dropped')),
    held         TEXT NOT NULL, -- why
    run_at       INTEGER NOT NULL,
    lease        INTEGER NOT NULL, -- how often it was leased: the fencing token
    lease_until  INTEGER NOT NULL,
    owner        TEXT NOT NULL,
    lost         INTEGER NOT NULL, -- leases that ran out
    attempt      INTEGER NOT NULL, -- attempts that ended
    base         INTEGER NOT NULL, -- attempts before it was last replayed
    max_attempts INTEGER NOT NULL,
    skip_after   INTEGER NOT NULL,
    error        TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    ended_at     INTEGER
, tried TEXT NOT NULL DEFAULT '', phase INTEGER GENERATED ALWAYS AS
    (CASE state WHEN 'waiting' THEN 0 WHEN 'ready' THEN 1 WHEN 'leased' THEN 1 WHEN 'held' THEN 2 WHEN 'dead' THEN 3 ELSE 4 END) VIRTUAL) STRICT;
INSERT INTO jobs VALUES('default','18e93ed97bd69b2e00009f45f8448915','deliveries','default server:demo','echoed/41',1795035030290340654,0,'18e93ed97bca67d1ebd00a6ec6050e12/echoed','18e93ed97bca67d1ebd00a6ec6050e12','echoed','41','echo','{"event":"18e93ed97bca67d1ebd00a6ec6050e12","event_type":"report.done","source":"api","trigger":"echoed","agent":"41","target":{"server":"demo"},"tool":"echo","arguments":{"text":"pages"},"key":"echoed/41","dedupe":"18e93ed97bca67d1ebd00a6ec6050e12/echoed"}','done','',1795035030341860,1,0,'',0,1,0,0,0,'',1795035030290340,1795035030341860,replace('{"n":1,"begun":1795035030341214,"ms":0,"outcome":"delivered","answer":"{\"content\":[{\"type\":\"text\",\"text\":\"pages\"}]}","call":"18e93ed97ee4c67315ea87c775208bb8"}\n','\n',char(10)));
CREATE TABLE job_lines (
    tenant_id TEXT NOT NULL REFERENCES tenants (tenant_id),
    queue     TEXT NOT NULL,
    order_key TEXT NOT NULL,
    last      INTEGER NOT NULL, -- the greatest seq
    PRIMARY KEY (tenant_id, queue, order_key)
) STRICT, WITHOUT ROWID;
INSERT INTO job_lines VALUES('default','deliveries','echoed/41',1795035030290340654);
CREATE TABLE job_lanes (
    tenant_id TEXT NOT NULL REFERENCES tenants (tenant_id),
    queue     TEXT NOT NULL,
    lane      TEXT NOT NULL,
    state     TEXT NOT NULL CHECK (state IN ('closed', 'open', 'half', 'stopped')),
    until     INTEGER NOT NULL,
    opened    INTEGER NOT NULL, -- how often in a row
    why       TEXT NOT NULL,
    changed_at INTEGER NOT NULL,
    PRIMARY KEY (queue, lane)
) STRICT, WITHOUT ROWID;
CREATE TABLE agent_endpoints (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    agent      TEXT NOT NULL,
    origin     TEXT NOT NULL,
    url        TEXT NOT NULL,
    transport  TEXT NOT NULL,
    header     TEXT NOT NULL,
    signed     INTEGER NOT NULL,
    trusted    INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, suspended TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (tenant_id, agent, origin)
) STRICT;
INSERT INTO agent_endpoints VALUES('default','41','http://127.0.0.1:18792','http://127.0.0.1:18792/mcp','http','Authorization',1,0,0,1795035027666576,'');
CREATE TABLE events (
    tenant_id   TEXT NOT NULL REFERENCES tenants (tenant_id),
    id          TEXT NOT NULL,
    source      TEXT NOT NULL,
    type        TEXT NOT NULL,
    agent       TEXT NOT NULL,
    dedupe_key  TEXT NOT NULL,
    data        BLOB NOT NULL,
    depth       INTEGER NOT NULL,
    raised      INTEGER NOT NULL,
    faults      TEXT NOT NULL, -- JSON array: why triggers could make no call of it
    received_at INTEGER NOT NULL, type_unsigned INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, source, dedupe_key)
) STRICT;
INSERT INTO events VALUES('default','18e93ed97bca67d1ebd00a6ec6050e12','api','report.done','41','k1',X'7b2274657874223a227061676573227d',0,1,'null',1795035030289542,0);
INSERT INTO events VALUES('default','18e93ed9843549c81503796a514422ba','api','unmatched','','18e93ed9843549c81503796a514422ba',X'7b226e223a327d',0,0,'null',1795035030430764,0);
CREATE TABLE triggers (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    name       TEXT NOT NULL,
    config     TEXT NOT NULL, -- JSON: all of it that is not asked for by queries
    disabled   INTEGER NOT NULL,
    declared   TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, name)
) STRICT;
INSERT INTO triggers VALUES('default','echoed','{"title":"Echo","owner":"key:iivwux2iugu6vjsz","match":{"type":"report.*"},"action":{"server":"demo","tool":"echo","template":{"text":"{{data.text}}"}}}',0,'',1795035029835189,1795035029835189);
INSERT INTO triggers VALUES('default','held','{"owner":"key:iivwux2iugu6vjsz","match":{"type":"other"},"action":{"server":"demo","tool":"add"}}',1,'',1795035030083815,1795035030083815);
CREATE TABLE event_waits (
    tenant_id    TEXT NOT NULL,
    trigger_name TEXT NOT NULL,
    line         TEXT NOT NULL, -- whose events go together
    event_id     TEXT NOT NULL,
    since        INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, trigger_name, event_id),
    FOREIGN KEY (tenant_id, trigger_name) REFERENCES triggers (tenant_id, name) ON DELETE CASCADE
) STRICT;
CREATE TABLE app_approvals (
    tenant_id   TEXT NOT NULL,
    server      TEXT NOT NULL,
    resource    TEXT NOT NULL, -- the server's own URI
    digest      TEXT NOT NULL, -- SHA-256 of the page, hex
    approved_by TEXT NOT NULL,
    approved_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, server, resource),
    FOREIGN KEY (tenant_id, server) REFERENCES servers (tenant_id, id) ON DELETE CASCADE
) STRICT;
CREATE TABLE sources (
    id         TEXT NOT NULL PRIMARY KEY,
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    config     TEXT NOT NULL, -- JSON: all of it that is not asked for by queries
    disabled   INTEGER NOT NULL,
    declared   TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
INSERT INTO sources VALUES('shop','default','{"style":"standard","title":"The shop"}',0,'',1795035029575661,1795035029575661);
CREATE TABLE schedules (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    name       TEXT NOT NULL,
    config     TEXT NOT NULL,
    disabled   INTEGER NOT NULL,
    declared   TEXT NOT NULL,
    next_at    INTEGER NOT NULL,
    last_at    INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, name)
) STRICT;
INSERT INTO schedules VALUES('default','nightly','{"cron":"0 3 1 1 *","timezone":"Europe/Berlin","type":"report.due","data":{"a":1}}',0,'',1798768800000000,NULL,1795035029636138,1795035029636138);
CREATE TABLE chain_blocks (
    tenant_id TEXT NOT NULL REFERENCES tenants (tenant_id),
    chain     INTEGER NOT NULL,
    number    INTEGER NOT NULL,
    hash      TEXT NOT NULL,
    parent    TEXT NOT NULL,
    mined_at  INTEGER NOT NULL, -- seconds
    PRIMARY KEY (tenant_id, chain, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE chain_events (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    chain      INTEGER NOT NULL,
    block_hash TEXT NOT NULL,
    log_index  INTEGER NOT NULL,
    number     INTEGER NOT NULL,
    kind       TEXT NOT NULL,
    agent      TEXT NOT NULL, -- eip155:CHAIN:REGISTRY/ID
    body       TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('seen', 'counted', 'orphaned')),
    counted    INTEGER NOT NULL, -- how often it came to count
    retracted  INTEGER NOT NULL, -- how often it was taken back after that
    seen_at    INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, chain, block_hash, log_index)
) STRICT, WITHOUT ROWID;
CREATE TABLE models (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    name       TEXT NOT NULL,
    kind       TEXT NOT NULL,
    base_url   TEXT NOT NULL,
    model      TEXT NOT NULL,
    trusted    INTEGER NOT NULL, -- the operator named its address
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, name)
) STRICT;
INSERT INTO models VALUES('default','local','openai','http://127.0.0.1:18793/v1','m',0,1795035027699694,1795035027699694);
CREATE TABLE workspaces (
    tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
    id         TEXT NOT NULL,
    name       TEXT NOT NULL,
    config     TEXT NOT NULL, -- JSON: policy, max_rounds, approvals
    owner      TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, id)
) STRICT;
INSERT INTO workspaces VALUES('default','rdznaktdhcbf','Kitchen','{"policy":"router","max_rounds":3,"approvals":"never"}','local:operator',1795035033245440,1795035033245440);
INSERT INTO workspaces VALUES('default','rhgxpyc7plmj','Cellar','{"policy":"router","max_rounds":3,"approvals":"ask"}','local:operator',1795035034444554,1795035034444554);
CREATE TABLE workspace_members (
    tenant_id    TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    kind         TEXT NOT NULL CHECK (kind IN ('agent', 'user')),
    member       TEXT NOT NULL,
    place        INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, workspace_id, kind, member),
    FOREIGN KEY (tenant_id, workspace_id) REFERENCES workspaces (tenant_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO workspace_members VALUES('default','rdznaktdhcbf','agent','qa',0);
INSERT INTO workspace_members VALUES('default','rhgxpyc7plmj','agent','qa',0);
CREATE TABLE workspace_messages (
    tenant_id    TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    id           TEXT NOT NULL,
    seq          INTEGER NOT NULL, -- in the order of the room
    run_id       TEXT NOT NULL,
    author_kind  TEXT NOT NULL,
    author       TEXT NOT NULL,
    author_id    TEXT NOT NULL,
    body         TEXT NOT NULL, -- JSON: text, calls, outcome, thinking
    search       TEXT NOT NULL, -- what can be searched for, in lower case
    said_at      INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, workspace_id, id),
    UNIQUE (tenant_id, workspace_id, seq),
    FOREIGN KEY (tenant_id, workspace_id) REFERENCES workspaces (tenant_id, id) ON DELETE CASCADE
) STRICT;
INSERT INTO workspace_messages VALUES('default','rdznaktdhcbf','18e93eda39fb89c926db9362fb8d024e',1,'18e93eda39fb7f8fb28759ac435930c5','user','operator','local:operator','{"text":"@qa repeat after me"}',replace('operator\n@qa repeat after me','\n',char(10)),1795035033480433);
INSERT INTO workspace_messages VALUES('default','rdznaktdhcbf','18e93eda3a10a0725a94f7e9a25f8876',2,'18e93eda39fb7f8fb28759ac435930c5','agent','qa','','{"text":"","calls":[{"id":"call_5JGYW3MNRMNZRFYW","name":"demo__echo","server":"demo","tool":"echo","arguments":{"text":"after me"},"state":"done","result_text":"after me","record":"18e93eda3a149ff0df3ff9c482f54e8b"}]}',replace('qa\n\ndemo__echo\nafter me','\n',char(10)),1795035033481814);
INSERT INTO workspace_messages VALUES('default','rdznaktdhcbf','18e93eda3a17fa3a136fc9fac5ce0526',3,'18e93eda39fb7f8fb28759ac435930c5','agent','qa','','{"text":"You said: after me"}',replace('qa\nyou said: after me','\n',char(10)),1795035033482296);
INSERT INTO workspace_messages VALUES('default','rdznaktdhcbf','18e93eda570bba22b17e476e11d07d94',4,'18e93eda570bb107e8c56a8fa3847dd5','user','operator','local:operator','{"text":"sing"}',replace('operator\nsing','\n',char(10)),1795035033968033);
INSERT INTO workspace_messages VALUES('default','rdznaktdhcbf','18e93eda571d9ae72335b7c4e5e6021f',5,'18e93eda570bb107e8c56a8fa3847dd5','agent','qa','','{"text":"I can repeat."}',replace('qa\ni can repeat.','\n',char(10)),1795035033969204);
INSERT INTO workspace_messages VALUES('default','rhgxpyc7plmj','18e93eda8b039293b22ec74b2fff4c0b',1,'18e93eda8b03873cacc98533714b80d1','user','operator','local:operator','{"text":"@qa repeat a secret"}',replace('operator\n@qa repeat a secret','\n',char(10)),1795035034839914);
INSERT INTO workspace_messages VALUES('default','rhgxpyc7plmj','18e93eda8b3ef41be783ee8871acbfab',2,'18e93eda8b03873cacc98533714b80d1','agent','qa','','{"text":"","calls":[{"id":"call_B5SPHHC5COXUD54Y","name":"demo__echo","server":"demo","tool":"echo","arguments":{"text":"a secret"},"state":"done","result_text":"a secret","record":"18e93eda8b43cfe104651a8d1a7844f3"}]}',replace('qa\n\ndemo__echo\na secret','\n',char(10)),1795035034843805);
INSERT INTO workspace_messages VALUES('default','rhgxpyc7plmj','18e93eda8b47058edfc3afac8afa11ea',3,'18e93eda8b03873cacc98533714b80d1','agent','qa','','{"text":"You said: a secret"}',replace('qa\nyou said: a secret','\n',char(10)),1795035034844333);
CREATE TABLE workspace_runs (
    tenant_id     TEXT NOT NULL,
    workspace_id  TEXT NOT NULL,
    id            TEXT NOT NULL,
    state         TEXT NOT NULL CHECK (state IN ('running', 'waiting', 'done', 'failed', 'cancelled', 'lost')),
    by_party      TEXT NOT NULL,
    node          TEXT NOT NULL,
    reason        TEXT NOT NULL,
    plan          TEXT NOT NULL, -- JSON: what is left to do when it goes on
    stop          INTEGER NOT NULL, -- somebody wants it stopped
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    begun_at      INTEGER NOT NULL,
    beat_at       INTEGER NOT NULL, -- when its node last said that it runs
    ended_at      INTEGER,
    PRIMARY KEY (tenant_id, workspace_id, id),
    FOREIGN KEY (tenant_id, workspace_id) REFERENCES workspaces (tenant_id, id) ON DELETE CASCADE
) STRICT;
INSERT INTO workspace_runs VALUES('default','rdznaktdhcbf','18e93eda39fb7f8fb28759ac435930c5','done','local:operator','18e93ed4b285b393f06a3b182992be9b','','',0,0,0,1795035033480524,1795035033480524,1795035033482469);
INSERT INTO workspace_runs VALUES('default','rdznaktdhcbf','18e93eda570bb107e8c56a8fa3847dd5','done','local:operator','18e93ed4b285b393f06a3b182992be9b','','',0,0,0,1795035033968191,1795035033968191,1795035033969456);
INSERT INTO workspace_runs VALUES('default','rhgxpyc7plmj','18e93eda8b03873cacc98533714b80d1','done','local:operator','18e93ed4b285b393f06a3b182992be9b','','',0,0,0,1795035034840011,1795035034840011,1795035034844546);
CREATE TABLE workspace_approvals (
    tenant_id    TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    id           TEXT NOT NULL,
    run_id       TEXT NOT NULL,
    agent        TEXT NOT NULL,
    call         TEXT NOT NULL, -- JSON
    state        TEXT NOT NULL CHECK (state IN ('open', 'allowed', 'denied')),
    remember     INTEGER NOT NULL,
    decided_by   TEXT NOT NULL,
    asked_at     INTEGER NOT NULL,
    decided_at   INTEGER, reason TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (tenant_id, workspace_id, id),
    FOREIGN KEY (tenant_id, workspace_id) REFERENCES workspaces (tenant_id, id) ON DELETE CASCADE
) STRICT;
CREATE TABLE published_agents (
    name      TEXT NOT NULL,
    tenant_id TEXT NOT NULL,
    since     INTEGER NOT NULL,
    PRIMARY KEY (name),
    FOREIGN KEY (tenant_id, name) REFERENCES agents (tenant_id, name) ON DELETE CASCADE
) STRICT;
INSERT INTO published_agents VALUES('qa','default',1795035023948940);
CREATE TABLE agent_tasks (
    tenant_id  TEXT NOT NULL,
    id         TEXT NOT NULL,
    agent      TEXT NOT NULL,
    owner      TEXT NOT NULL,
    context_id TEXT NOT NULL,
    state      TEXT NOT NULL,
    running    INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    body       TEXT NOT NULL, -- JSON: the task as its owner sees it
    story      TEXT NOT NULL, -- JSON: what was said, as the agent knows it
    node       TEXT NOT NULL,
    stop       INTEGER NOT NULL, -- its owner wants it stopped
    begun_at   INTEGER NOT NULL,
    status_at  INTEGER NOT NULL,
    beat_at    INTEGER NOT NULL, -- when its node last said that it works on it
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, agent) REFERENCES agents (tenant_id, name) ON DELETE CASCADE
) STRICT;
INSERT INTO agent_tasks VALUES('default','01a1f06c-f600-71fd-a6a6-44243672933c','qa','key:iivwux2iugu6vjsz','01a1f06c-f600-7205-8743-724e035403d0','TASK_STATE_COMPLETED',0,2,'{"id":"01a1f06c-f600-71fd-a6a6-44243672933c","artifacts":[{"artifactId":"msg_R3GY5VLSLQ7NGRCB","parts":[{"text":"You said: by a2a"}]}],"contextId":"01a1f06c-f600-7205-8743-724e035403d0","history":[{"messageId":"m1","contextId":"01a1f06c-f600-7205-8743-724e035403d0","parts":[{"text":"repeat by a2a"}],"role":"ROLE_USER","taskId":"01a1f06c-f600-71fd-a6a6-44243672933c"}],"status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-11-18T20:50:35.137074Z"}}','[{"role":"user","text":"repeat by a2a"},{"role":"assistant","calls":[{"id":"call_ZIYBFX3UAAV4QIY4","name":"demo__echo","arguments":{"text":"by a2a"}}]},{"role":"tool","results":[{"call_id":"call_ZIYBFX3UAAV4QIY4","content":{"content":[{"type":"text","text":"by a2a"}]},"text":"by a2a","record":"18e93eda9cb6a7b4f09903c03d69ca32","server":"demo","tool":"echo"}]},{"role":"assistant","text":"You said: by a2a"}]','18e93ed4b285b393f06a3b182992be9b',0,1795035035136128,1795035035137074,1795035035137074);
CREATE TABLE agent_task_pushes (
    tenant_id TEXT NOT NULL,
    task_id   TEXT NOT NULL,
    id        TEXT NOT NULL,
    config    TEXT NOT NULL, -- JSON: the address; what is secret lies among the secrets
    PRIMARY KEY (tenant_id, task_id, id),
    FOREIGN KEY (tenant_id, task_id) REFERENCES agent_tasks (tenant_id, id) ON DELETE CASCADE
) STRICT;
CREATE TABLE tool_suggestions (
    tenant_id TEXT NOT NULL,
    server    TEXT NOT NULL,
    tool      TEXT NOT NULL, -- the server's own name
    id        TEXT NOT NULL,
    face      TEXT NOT NULL, -- JSON
    model     TEXT NOT NULL,
    made_at   INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, server, tool),
    FOREIGN KEY (tenant_id, server) REFERENCES servers (tenant_id, id) ON DELETE CASCADE
) STRICT;
CREATE TABLE nodes (
    tenant_id  TEXT NOT NULL,
    id         TEXT NOT NULL, -- of this run: what it holds in memory ends with it
    name       TEXT NOT NULL, -- of the data directory: the journal's
    url        TEXT NOT NULL, -- where the others reach it; '' is nowhere
    version    TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL, -- by the clock of the database
    PRIMARY KEY (tenant_id, id)
) STRICT;
CREATE TABLE leases (
    tenant_id TEXT NOT NULL,
    name      TEXT NOT NULL,
    node      TEXT NOT NULL,
    until     INTEGER NOT NULL, -- by the clock of the database
    fence     INTEGER NOT NULL, -- grows whenever another takes it
    PRIMARY KEY (tenant_id, name)
) STRICT;
CREATE TABLE job_claims (
    tenant_id TEXT NOT NULL REFERENCES tenants (tenant_id),
    id        TEXT NOT NULL,
    queue     TEXT NOT NULL,
    owner     TEXT NOT NULL,
    until     INTEGER NOT NULL, -- no lease of it runs out before
    jobs      TEXT NOT NULL, -- JSON: the jobs' ids, and the token of each
    PRIMARY KEY (tenant_id, id)
) STRICT;
INSERT INTO job_claims VALUES('default','18e93ed97d068b490000398f1c8fd7e0','deliveries','18e93ed4b285b393f06a3b182992be9b',1795035045310259,'{"18e93ed97bd69b2e00009f45f8448915":1}');
CREATE TABLE homes (
    tenant_id TEXT NOT NULL,
    name      TEXT NOT NULL,
    node      TEXT NOT NULL,
    PRIMARY KEY (tenant_id, name)
) STRICT;
CREATE TABLE audit_heads (
    node      TEXT NOT NULL PRIMARY KEY,
    seq       INTEGER NOT NULL CHECK (seq > 0),
    head      TEXT NOT NULL,
    tenant_id TEXT NOT NULL DEFAULT '' CHECK (tenant_id = '')
) STRICT;
INSERT INTO audit_heads VALUES('18e93ed4b285b393f06a3b182992be9b',18,'{"node":"18e93ed4b285b393f06a3b182992be9b","seq":18,"hash":"b10ebd5792cac81449721fb54cbc88a340befa1c69f28e940c1074e9d8b72b43","time":"2026-11-18T20:50:38.86252167Z","shipped":18,"closed":true,"signature":"s9jCXbSKPL2L8Voc3/VvQfGp8iF8p1rj5USbjkeBa0zDRVsSlLZaghv9cByscDh/TyrL35bLV/BwtXrsMFclDA=="}','');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('schema_version',32);
CREATE UNIQUE INDEX keys_one_admin ON keys (tenant_id) WHERE name = 'admin';
CREATE INDEX sessions_expiry ON sessions (expires_at);
CREATE INDEX used_states_expiry ON used_states (expires_at);
CREATE INDEX tasks_by_principal ON tasks (tenant_id, issuer, subject, id);
CREATE INDEX tasks_by_end ON tasks (expires_at);
CREATE INDEX user_links_user ON user_links (tenant_id, user_id);
CREATE INDEX logins_expiry ON logins (expires_at);
CREATE INDEX agent_grants_server ON agent_grants (tenant_id, server);
CREATE INDEX tool_changes_seen ON tool_changes (tenant_id, seen_at);
CREATE INDEX tool_changes_tool ON tool_changes (tenant_id, server, tool);
CREATE INDEX clients_unused ON clients (created_at) WHERE used_at IS NULL;
CREATE INDEX consent_tokens_consent ON consent_tokens (tenant_id, consent_id);
CREATE INDEX consent_tokens_family ON consent_tokens (tenant_id, family);
CREATE INDEX consent_tokens_expiry ON consent_tokens (expires_at);
CREATE INDEX login_traces_server ON login_traces (tenant_id, server, id);
CREATE INDEX login_traces_user ON login_traces (tenant_id, user_id);
CREATE INDEX jobs_line ON jobs (tenant_id, queue, order_key, seq) WHERE blocks = 1;
CREATE UNIQUE INDEX jobs_dedupe ON jobs (tenant_id, queue, dedupe_key) WHERE dedupe_key IS NOT NULL;
CREATE INDEX jobs_ended ON jobs (queue, ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX events_received ON events (received_at);
CREATE INDEX sources_tenant ON sources (tenant_id);
CREATE INDEX schedules_due ON schedules (next_at);
CREATE INDEX chain_events_open ON chain_events (tenant_id, chain, number, log_index) WHERE state <> 'orphaned';
CREATE INDEX chain_events_of ON chain_events (tenant_id, agent, number);
CREATE UNIQUE INDEX workspace_runs_one ON workspace_runs (tenant_id, workspace_id) WHERE state = 'running';
CREATE INDEX workspace_runs_beat ON workspace_runs (beat_at) WHERE state = 'running';
CREATE INDEX workspace_approvals_state ON workspace_approvals (tenant_id, workspace_id, state, remember);
CREATE INDEX agent_tasks_list ON agent_tasks (tenant_id, agent, owner, status_at, id);
CREATE INDEX agent_tasks_beat ON agent_tasks (beat_at) WHERE running = 1;
CREATE INDEX agent_tasks_age ON agent_tasks (status_at);
CREATE INDEX jobs_newest ON jobs (tenant_id, queue, id);
CREATE INDEX job_claims_until ON job_claims (queue, until);
CREATE INDEX jobs_ready ON jobs (queue, lane, run_at, seq) WHERE phase = 1;
CREATE UNIQUE INDEX jobs_one_moves ON jobs (tenant_id, queue, order_key) WHERE blocks = 1 AND phase <> 0;
CREATE INDEX jobs_stuck ON jobs (queue, phase) WHERE phase IN (2, 3);
COMMIT;
