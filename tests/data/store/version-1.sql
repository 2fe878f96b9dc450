BEGIN TRANSACTION;
CREATE TABLE host (
	id INTEGER NOT NULL, 
	fingerprint TEXT NOT NULL, 
	facts TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (fingerprint)
);
INSERT INTO "host" VALUES(1,'bfd6b07253c56b27592d171b2cdd1d55','{"host": {"hostname": "old"}}');
CREATE TABLE meta (
	name TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "meta" VALUES('schema_version','1');
CREATE TABLE run (
	study_id INTEGER NOT NULL, 
	seq BIGINT NOT NULL, 
	workload BIGINT NOT NULL, 
	settings BIGINT NOT NULL, 
	round BIGINT NOT NULL, 
	padding BIGINT NOT NULL, 
	started_ns BIGINT NOT NULL, 
	wall_ns BIGINT NOT NULL, 
	user_ns BIGINT, 
	system_ns BIGINT, 
	wait_ns BIGINT, 
	max_rss_bytes BIGINT, 
	minor_faults BIGINT, 
	major_faults BIGINT, 
	voluntary BIGINT, 
	involuntary BIGINT, 
	outcome SMALLINT NOT NULL, 
	status SMALLINT, 
	left_behind BIGINT NOT NULL, 
	PRIMARY KEY (study_id, seq), 
	FOREIGN KEY(study_id) REFERENCES study (id)
)
 WITHOUT ROWID

;
INSERT INTO "run" VALUES(1,0,0,0,0,16,0,100000000,1,2,3,1048576,1,0,2,3,0,0,0);
INSERT INTO "run" VALUES(1,1,0,0,1,16,1000000000,100000001,1,2,3,1048576,1,0,2,3,0,0,0);
CREATE TABLE run_text (
	study_id INTEGER NOT NULL, 
	seq BIGINT NOT NULL, 
	stderr TEXT NOT NULL, 
	stdout TEXT NOT NULL, 
	PRIMARY KEY (study_id, seq), 
	FOREIGN KEY(study_id) REFERENCES study (id)
);
INSERT INTO "run_text" VALUES(1,1,'said','');
CREATE TABLE study (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	kind TEXT NOT NULL, 
	title TEXT NOT NULL, 
	created_ns BIGINT NOT NULL, 
	becalm TEXT NOT NULL, 
	host_id INTEGER NOT NULL, 
	host_name TEXT NOT NULL, 
	seed BIGINT NOT NULL, 
	options TEXT NOT NULL, 
	environment TEXT NOT NULL, 
	FOREIGN KEY(host_id) REFERENCES host (id)
);
INSERT INTO "study" VALUES(1,'run','of version 1',1000000000000000000,'0.1.0',1,'local',7,'{"runs": 2}','known');
CREATE TABLE study_settings (
	study_id INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	knobs TEXT NOT NULL, 
	PRIMARY KEY (study_id, position), 
	FOREIGN KEY(study_id) REFERENCES study (id)
);
INSERT INTO "study_settings" VALUES(1,0,'{}');
CREATE TABLE study_workload (
	study_id INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	description TEXT NOT NULL, 
	PRIMARY KEY (study_id, position), 
	FOREIGN KEY(study_id) REFERENCES study (id)
);
INSERT INTO "study_workload" VALUES(1,0,'{"argv": ["sleep", "0.1"], "name": "sleep 0.1", "parameters": {}, "directory": null, "environment": {}, "input": null, "prepare": null, "cleanup": null, "timeout_ns": null, "expect": [0], "output": "discard", "cold": false}');
CREATE TABLE verdict (
	id INTEGER NOT NULL, 
	study_id INTEGER NOT NULL, 
	created_ns BIGINT NOT NULL, 
	json TEXT NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(study_id) REFERENCES study (id)
);
INSERT INTO "verdict" VALUES(1,1,1795257688612603984,'{"kind": "run"}');
CREATE INDEX ix_verdict_study_id ON verdict (study_id);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('study',1);
COMMIT;
